<?php
// The files of a repository, and what was done last to each.

function last_commits_of_each(array $files): array
{
    $last = [];
    foreach ($files as $file) {
        $last[$file] = shell_exec('git log -1 --format=%h:%s main -- ' . escapeshellarg($file));
    }
    return $last;
}

function last_commits(array $files): array
{
    $last = [];
    $commit = '';
    foreach (explode("\n", shell_exec('git log --format=:%h:%s --name-only main')) as $line) {
        if (str_starts_with($line, ':')) {
            $commit = $line;
        } elseif ($line !== '' && !isset($last[$line])) {
            $last[$line] = $commit;
        }
    }
    return $last;
}

$files = explode("\n", trim(shell_exec('git ls-tree --name-only main')));
$last = getenv('EACH') === 'yes' ? last_commits_of_each($files) : last_commits($files);
foreach ($files as $file) {
    echo htmlspecialchars("$file $last[$file]"), "<br>\n";
}
