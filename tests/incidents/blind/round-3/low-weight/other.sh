echo $$ >/sys/fs/cgroup/others/cgroup.procs
exec spin --cpu 1 --duration-ms 100000
