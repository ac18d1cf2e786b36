// SPDX-License-Identifier: GPL-2.0-only
/* Object ids of the kernel side as the text of a recording ("device:254:0", "peer:10.0.0.1:5432"). */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "recorder.h"
#include "perfdiag.skel.h"
#include "program/syscall_table.h"

static bool look_up(struct recorder *recorder, __u64 object, struct object_name *name)
{
	memset(name, 0, sizeof(*name));
	return !bpf_map__lookup_elem(recorder->skeleton->maps.names, &object, sizeof(object), name, sizeof(*name), 0);
}

/* A peer process was met as a pid only; its name is asked for now, and /proc/PID/comm never blocks. */
static bool read_comm(__u64 pid, char comm[COMM_BYTES])
{
	_cleanup_close_ int fd = -1;
	char path[64];
	ssize_t length;

	comm[0] = 0;
	snprintf(path, sizeof(path), "/proc/%llu/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, comm, COMM_BYTES - 1);
	comm[length > 0 ? length - (comm[length - 1] == '\n') : 0] = 0;
	return length > 0;
}

void comm_write(struct recorder *recorder, const char *key, pid_t tid)
{
	char comm[COMM_BYTES];

	read_comm(tid, comm);
	json_bytes(&recorder->json, key, comm, strlen(comm));
}

/* Without the colon behind the number where its name is not known: an empty one can be its own choice. */
static void write_process(struct recorder *recorder, const char *key, const char *kind, __u64 object)
{
	struct object_name name;
	char text[64];
	int length;

	if (!look_up(recorder, object, &name) && !read_comm(OBJECT_ID(object), name.comm))
		return json_format(&recorder->json, key, "%s:%llu", kind, OBJECT_ID(object));
	length = snprintf(text, sizeof(text), "%s:%llu:", kind, OBJECT_ID(object));
	memcpy(text + length, name.comm, strnlen(name.comm, COMM_BYTES));
	json_bytes(&recorder->json, key, text, length + strnlen(name.comm, COMM_BYTES));
}

static void write_file(struct recorder *recorder, const char *key, const struct object_name *name)
{
	char text[64 + FILE_NAME_BYTES];
	size_t base = strnlen(name->file.base, FILE_NAME_BYTES);
	int length = snprintf(text, 64, "file:%u:%u:%llu%s", name->file.device >> 20, name->file.device & 0xfffff,
			      name->file.inode, base ? ":" : "");

	memcpy(text + length, name->file.base, base);
	json_bytes(&recorder->json, key, text, length + base);
}

static void write_abstract(struct recorder *recorder, const char *key, __u64 object)
{
	static const char kind[] = "abstract:";
	char text[sizeof(kind) + ABSTRACT_NAME_BYTES];
	struct object_name name;
	size_t length;

	if (!look_up(recorder, object, &name))
		return json_text(&recorder->json, key, "abstract");
	length = name.abstract.length < ABSTRACT_NAME_BYTES ? name.abstract.length : ABSTRACT_NAME_BYTES;
	memcpy(text, kind, sizeof(kind) - 1);
	memcpy(text + sizeof(kind) - 1, name.abstract.text, length);
	json_bytes(&recorder->json, key, text, sizeof(kind) - 1 + length);
}

void peer_write(struct json *json, const char *key, int family, const void *address, unsigned int port)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(family, address, text, sizeof(text));
	json_format(json, key, family == AF_INET ? "peer:%s:%u" : "peer:[%s]:%u", text, port);
}

static void write_idle_state(struct json *json, const char *key, __u64 id)
{
	__u64 state = id & ~IDLE_LEFT;

	if (state == IDLE_AWAKE || !state)
		return json_text(json, key, state ? "idle:awake" : "");
	json_format(json, key, id & IDLE_LEFT ? "idle:%llu:left" : "idle:%llu", state - 1);
}

static const char *stop_name(__u64 stop)
{
	static const char *const names[] = {
		[STOP_SIGNAL] = "signal",
		[STOP_TRACER] = "tracer",
		[STOP_FREEZER] = "freezer",
	};

	return names[stop <= STOP_FREEZER ? stop : STOP_SIGNAL];
}

void device_write(struct json *json, const char *key, __u32 device)
{
	json_format(json, key, "%u:%u", device >> 20, device & 0xfffff);
}

void object_write(struct recorder *recorder, const char *key, __u64 object)
{
	struct json *json = &recorder->json;
	__u64 id = OBJECT_ID(object);
	struct object_name name;
	const char *text;

	switch (OBJECT_KIND(object)) {
	case OBJECT_DEVICE: return json_format(json, key, "device:%llu:%llu", id >> 20, id & 0xfffff);
	case OBJECT_MOUNT: return json_format(json, key, "mount:%llu:%llu", id >> 20, id & 0xfffff);
	case OBJECT_PEER: {
		__u32 address = htonl(id >> 16);

		return peer_write(json, key, AF_INET, &address, id & 0xffff);
	}
	case OBJECT_PEER6:
		if (!look_up(recorder, object, &name))
			return json_text(json, key, "peer:unknown");
		return peer_write(json, key, AF_INET6, name.peer.address, name.peer.port);
	case OBJECT_UNIX: return write_process(recorder, key, "unix", object);
	case OBJECT_ABSTRACT: return write_abstract(recorder, key, object);
	case OBJECT_TASK: return write_process(recorder, key, "task", object);
	case OBJECT_OWN: return write_process(recorder, key, "own", object);
	case OBJECT_DEADLINE: return json_text(json, key, "deadline");
	case OBJECT_REALTIME: return json_text(json, key, "realtime");
	case OBJECT_STOP: return json_format(json, key, "stop:%s", stop_name(id));
	case OBJECT_CGROUP: return json_format(json, key, "cgroup:%llu", id);
	case OBJECT_IDLE_STATE: return write_idle_state(json, key, id);
	case OBJECT_SYSCALL:
		text = syscall_name((__u32)id, id & OBJECT_SYSCALL_I386);
		if (text)
			return json_format(json, key, "syscall:%s", text);
		return json_format(json, key, "syscall:%u", (__u32)id);
	case OBJECT_FUTEX: return json_format(json, key, "futex:%#llx", id);
	case OBJECT_PIPE: return json_format(json, key, "pipe:%llu", id);
	case OBJECT_FILE:
		if (!look_up(recorder, object, &name))
			return json_text(json, key, "file:unknown");
		return write_file(recorder, key, &name);
	case OBJECT_FUNCTION: return json_format(json, key, "function:%s", marker_name(id));
	case OBJECT_PORT: return json_format(json, key, "port:%llu", id);
	case OBJECT_IN_FLIGHT:
		if (id == IN_FLIGHT_UNKNOWN)
			return json_text(json, key, "uncounted");
		return json_text(json, key, id == IN_FLIGHT_SOME ? "inflight" : "idle");
	case OBJECT_EXIT: return json_text(json, key, "exit");
	case OBJECT_RETURN: return json_text(json, key, "return to user space");
	case OBJECT_FAULT: return json_text(json, key, "page fault");
	case OBJECT_RPC: return nfs_server_write(recorder, key, id);
	case OBJECT_LIMIT:
		return id ? json_format(json, key, "limit:%s", id == LIMIT_HIGH ? "high" : "max")
			  : json_text(json, key, "");
	case OBJECT_ORDER: return json_format(json, key, "order:%llu", id);
	case OBJECT_WORKER: return json_text(json, key, "kernel worker");
	case OBJECT_POSTGRES:
		return json_format(json, key, "postgres:%u:%u%s", POSTGRES_CLASS(id), POSTGRES_EVENT(id),
				   id & POSTGRES_IN_TRANSACTION ? ":transaction" : "");
	case OBJECT_VM_EXIT: return json_format(json, key, "vmexit:%s:%u", vm_vendor_name(id >> 32), (__u32)id);
	}
	json_text(json, key, "");
}
