SELECT 1;
\sleep 100 s
