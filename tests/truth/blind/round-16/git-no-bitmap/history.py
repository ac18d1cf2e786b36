"""history.py COMMITS: a history for `git fast-import`, of small changes to 1,500 files in 60 folders."""

import sys

out = sys.stdout
for number in range(int(sys.argv[1])):
    out.write("commit refs/heads/main\n")
    out.write(f"committer somebody <somebody@example.org> {1500000000 + number * 600} +0000\n")
    message = f"change {number}\n"
    out.write(f"data {len(message)}\n{message}")
    for file in range(1500) if number == 0 else [number * 7919 % 1500]:
        text = "".join(f"line {line} of file {file}\n" for line in range(5)) + f"change {number}\n"
        out.write(f"M 100644 inline folder-{file % 60}/file-{file}.txt\ndata {len(text)}\n{text}\n")
