# GROUP COMMAND: runs a command in a control group.
echo $$ >/sys/fs/cgroup/$1/cgroup.procs
shift
exec "$@"
