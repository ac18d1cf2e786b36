#!/bin/sh
# make.sh REPOSITORY packs|repacked: a repository that is pushed to 900 times, a pack each time, and is repacked or not
set -e
git init -q --bare "$1"
git -C "$1" config gc.auto 0
git -C "$1" config fastimport.unpackLimit 1
last=
for push in $(seq 900); do
	{
		printf 'commit refs/heads/main\ncommitter A <a@example.test> %s +0000\ndata 5\npush\n' $((1700000000 + push))
		[ -z "$last" ] || printf 'from refs/heads/main^0\n'
		for file in 1 2 3 4; do
			printf 'M 644 inline folder%s/file%s-%s\ndata 12\ntext %07d' $((push % 20)) "$push" $file "$push$file"
			echo
		done
	} | git -C "$1" fast-import --quiet
	last=$push
done
[ "$2" = packs ] || git -C "$1" repack -a -d -q
