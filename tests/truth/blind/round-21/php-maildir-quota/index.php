<?php
// Shows how full the mailbox of the next user is.
$disk = getenv('disk');
$turns = fopen(getenv('folder') . '/turns', 'c+');
flock($turns, LOCK_EX);
$user = (int) fread($turns, 10) % 150 + 1;
rewind($turns);
fwrite($turns, "$user      ");
flock($turns, LOCK_UN);

function size_of_all($maildir)
{
    $bytes = 0;
    foreach (glob("$maildir/cur/*") as $mail)
        $bytes += filesize($mail);
    return $bytes;
}

$bytes = getenv('HOW') == 'count' ? size_of_all("$disk/mail/$user/Maildir") : (int) file_get_contents("$disk/sizes/$user");
echo "$user uses $bytes\n";
