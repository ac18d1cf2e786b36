// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: facts/mount_sources.c facts/mount_options.c */
/* What is left of the sources and options of mounts. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include "facts/internal.h"
#include "check.h"

static struct fact_text fact;

static const char *cut(const char *path, const char *text, bool truncated)
{
	fact.truncated = truncated;
	fact.length = snprintf(fact.text, sizeof(fact.text), "%s", text);
	fact_cut_mounts(path, &fact);
	fact.text[fact.length] = '\0';
	return fact.text;
}

static const char *source(const char *written)
{
	static char line[512];

	snprintf(line, sizeof(line), "1 0 0:1 / /a rw shared:1 - fuse %s rw\n2 0 8:1 / / rw - ext4 /dev/sda1 rw\n",
		 written);
	return cut("/proc/1/mountinfo", line, false);
}

#define LEFT(written, left)                                                                                            \
	CHECK_TEXT(source(written), "1 0 0:1 / /a rw shared:1 - fuse " left " rw\n2 0 8:1 / / rw - ext4 /dev/sda1 rw\n")

static void secrets_are_cut(void)
{
	LEFT("https://bob:zqsecret@dav.example/share?token=zqsecret", "https://dav.example/share");
	LEFT("https://bob:zq/sec@ret@dav.example/share", "https://dav.example/share");
	LEFT("https:/bob:zqsecret@dav.example/share", "https:/dav.example/share");
	LEFT("https:/zqsecret:zq/secret@dav.example", "https:/dav.example");
	LEFT("sftp://zqsecret@host/", "sftp://host/");
	LEFT("https://host/share\\043zqsecret", "https://host/share");
	LEFT("https://host?zqsecret@x", "https://#");
	LEFT("bob:zqsecret@host:/share", "host:/share");
	LEFT("bob:zq/secret@host:/share", "host:/share");
	LEFT("//server/share%zqsecret", "//server/share");
	LEFT("//bob%zqsecret@server/share", "//server/share");
	LEFT("bob%zqsecret@server:/share", "server:/share");
	LEFT("bob%zqsecret", "bob");
	LEFT("//server/share,password=zqsecret", "//server/share,password");
	LEFT("share;zqsecret", "share");
	LEFT("token=/zqsecret", "token");
	LEFT("https://bob:zq?sec@host/", "https://#");
	LEFT("https://bob:zq\\043sec@host/", "https://#");
	LEFT("bob:zq=sec@host:/", "#");
}

static void others_are_left(void)
{
	LEFT("10.0.0.1:/export", "10.0.0.1:/export");
	LEFT("//server/share", "//server/share");
	LEFT("pool/data@snapshot", "pool/data@snapshot");
	LEFT("/dev/mapper/a?b", "/dev/mapper/a?b");
	LEFT("none", "none");
	LEFT("10.0.0.1:6789,10.0.0.2:6789:/", "10.0.0.1:6789,10.0.0.2:6789:/");
	LEFT("remote:path/to", "remote:path/to");
	LEFT("", "");
	CHECK_TEXT(cut("/proc/1/status", "1 - fuse https://a:b@c x\n", false), "1 - fuse https://a:b@c x\n");
}

static const char *options(const char *type, const char *written)
{
	static char line[512], *text;

	snprintf(line, sizeof(line), "1 0 0:1 / /a rw shared:1 - %s a %s\n", type, written);
	text = strstr(cut("/proc/1/mountinfo", line, false), " a ");
	text[strlen(text) - 1] = '\0';
	return text + 3;
}

static void secrets_in_options_are_cut(void)
{
	CHECK_TEXT(options("cifs", "rw,username=bob,password=zqsecret,pass=1234,uid=0"),
		   "rw,username=#,password=#,pass=#,uid=0");
	CHECK_TEXT(options("ceph", "rw,name=admin,secret=/zqsecret==,acl"), "rw,name=#,secret=#,acl");
	CHECK_TEXT(options("fuse.s3fs", "rw,passwd_file=/etc/zq,a_token=tcp"), "rw,passwd_file=#,a_token=#");
	CHECK_TEXT(options("fuse", "rw,new=zqsecret,other=word,far=zq=secret"), "rw,new=#,other=#,far=#");
	CHECK_TEXT(options("fuse", "a=zq,SECRET,zq secret"), "a=#,#,#");
	CHECK_TEXT(options("fuse", "number=123456789012345678901,b=12zq,addr=zqsecret"), "number=#,b=#,addr=#");
	CHECK_TEXT(options("overlay", "rw,lowerdir=/zq/secret:/b,upperdir=/zq"), "rw,lowerdir=#,upperdir=#");
	CHECK_TEXT(options("cgroup2", "rw,name=zqsecret"), "rw,name=#");
}

#define KEPT(type, written) CHECK_TEXT(options(type, written), written)

static void options_that_count_are_left(void)
{
	KEPT("nfs4", "rw,vers=4.2,rsize=262144,namlen=255,hard,proto=tcp,timeo=600,sec=krb5p,clientaddr=10.0.0.2,"
		     "local_lock=none,lookupcache=pos,addr=fe80::1,nconnect=4,noac,sync");
	KEPT("tmpfs", "rw,size=1002048k,nr_inodes=250512,mode=755,inode64,huge=within_size");
	KEPT("9p", "rw,sync,dirsync,access=client,msize=262144,trans=virtio");
	KEPT("cgroup", "rw,xattr,name=systemd");
	KEPT("cgroup", "rw,cpu,cpuacct");
	KEPT("fuse.sshfs", "rw,user_id=0,group_id=0,default_permissions,allow_other,max_read=131072");
	KEPT("ext4", "rw,errors=remount-ro,data=ordered,commit=5,stripe=16");
	KEPT("btrfs", "rw,compress-force=zstd:15,subvolid=5");
	KEPT("ext3", "");
	KEPT("ext3", "rw,,ro,");
}

static void mountstats_too(void)
{
	const char *text = "device https://bob:zqsecret@host/a?zqsecret mounted on /a with fstype fuse\n\tage:\t5\n";

	CHECK_TEXT(cut("/proc/self/mountstats", text, false),
		   "device https://host/a mounted on /a with fstype fuse\n\tage:\t5\n");
	text = "device a:/b mounted on /a with fstype nfs\n\topts:\trw,vers=4.2,secret=zq\n\tsec:\tflavor=1\n";
	CHECK_TEXT(cut("/proc/self/mountstats", text, false),
		   "device a:/b mounted on /a with fstype nfs\n\topts:\trw,vers=4.2,secret=#\n\tsec:\tflavor=1\n");
}

static void a_part_of_a_line_is_not_kept(void)
{
	CHECK_TEXT(cut("/proc/1/mountinfo", "1 0 0:1 / / rw - a b c\n1 0 0:1 / /a rw - fuse https://bob:zqse", true),
		   "1 0 0:1 / / rw - a b c\n");
	CHECK_TEXT(cut("/proc/1/mountinfo", "", true), "");
}

int main(void)
{
	RUN(secrets_are_cut);
	RUN(others_are_left);
	RUN(secrets_in_options_are_cut);
	RUN(options_that_count_are_left);
	RUN(mountstats_too);
	RUN(a_part_of_a_line_is_not_kept);
	return check_result();
}
