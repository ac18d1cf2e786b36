UPDATE hot SET n = n + 1;
