# shellcheck shell=sh disable=SC1091,SC2154
# starts containers: a fresh layer over the image's, whose files get another owner
while :; do
	rm -rf "$folder/upper" "$folder/work"
	mkdir "$folder/upper" "$folder/work"
	mkdir -p "$folder/root"
	mount -t overlay overlay -o "lowerdir=$folder/lower,upperdir=$folder/upper,workdir=$folder/work,metacopy=$METACOPY" "$folder/root"
	chown -R nobody "$folder/root"
	umount "$folder/root"
	sleep 0.2
done
