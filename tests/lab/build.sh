#!/bin/bash
# Builds what the guests are made of, once: build.sh DIRECTORY KERNEL... [witness] [servers]
#
#   DIRECTORY/root.ext4          the disk of every guest: a minimal Debian 12
#   DIRECTORY/sid/               the newest Debian, for newer versions of tools: to be entered with chroot(8), or made
#                                the disk of a guest by make_image; or sid.missing, which says why not
#   DIRECTORY/dtrace.ext4        the disk of the guest with DTrace: the newest Debian; or dtrace.missing, which says why
#                                not.  Made with the kernel it is run on, so not where only another one is asked for
#   DIRECTORY/witness.ext4       the disk of the guest with the tools that perfdiag is compared with, and what compiles them;
#                                made where it is asked for; or witness.missing, which says why not
#   DIRECTORY/servers/           the newest Debian, with servers that Debian 12 does not have, to be entered with chroot(8);
#                                made where it is asked for; or servers.missing, which says why not
#   DIRECTORY/states.aml         idle states and clocks of its processors
#   DIRECTORY/kernels/NAME/      vmlinuz, initrd, release, modules/ of a stock kernel; or `missing`, which says why not
#
# Packages come from where this host gets its own, checked with the keys it trusts; its apt is neither asked nor changed.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
lab=$(realpath -m "$1")
dtrace_kernel=6.12 # the newest that DTrace 2.0.7 takes as it is: with 7.2 a library of its own does not compile
witness_kernel=6.1 # that of the Debian whose bcc it is
shift
say() { printf '  %-8s %s\n' "$1" "$2"; }

# LABEL: the address that this host has for what its archive calls itself so
mirror() {
	apt-get indextargets --format "\$(LABEL)|\$(REPO_URI)" | sed -n "s/^$1|//p" | sort -u | head -n 1
}

suite_of() { awk -v name="$1" '$1 == name { print $2 }' "$here/kernels.txt"; }

# NAME SUITE: an apt of our own, that knows one suite and nothing that is installed
private_apt() {
	local apt=$lab/apt/$1 security
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	: >"$apt/status"
	echo "deb [arch=amd64] $(mirror Debian) $2 main" >"$apt/sources.list"
	security=$(mirror Debian-Security)
	if [ -n "$security" ] && [ "$2" != sid ]; then
		echo "deb [arch=amd64] $security $2-security main" >>"$apt/sources.list"
	fi
	cat >"$apt/apt.conf" <<-END
		Dir::Etc::sourcelist "$apt/sources.list";
		Dir::Etc::sourceparts "-";
		Dir::State::lists "$apt/lists";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt/cache";
		Acquire::Languages "none";
		Acquire::Retries "3";
		APT::Sandbox::User "root";
	END
	export APT_CONFIG=$apt/apt.conf
}

# DIRECTORY: the kernel of the private apt, unpacked; newer suites have it in several packages
download() {
	local packages
	timeout 300 apt-get -qq update
	packages=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
		--no-enhances linux-image-amd64 | grep -E '^linux-(image|modules|binary|base)-[0-9]' | sort -u)
	mkdir -p "$1/packages"
	# shellcheck disable=SC2086 # one word a package
	(cd "$1/packages" && timeout 600 apt-get -qq download $packages)
	for package in "$1"/packages/*.deb; do dpkg-deb -x "$package" "$1/unpacked"; done
}

# KERNEL RELEASE: just what finds the disk and mounts it
make_initrd() {
	local root=$1/initrd.d number=100 line file
	mkdir -p "$root"/{bin,modules,proc,sys,dev,newroot}
	cp /bin/busybox "$root/bin/"
	install -m 755 "$here/guest/initrd.sh" "$root/init"
	for module in virtio_pci virtio_blk crc32c ext4 9p 9pnet_virtio; do
		modprobe --dirname "$1" --set-version "$2" --show-depends "$module"
	done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r file; do
		number=$((number + 1))
		line=$root/modules/$number-$(basename "$file")
		case $file in
		*.xz) xz -dc "$file" >"${line%.xz}" ;;
		*.zst) zstd -qdc "$file" >"${line%.zst}" ;;
		*) cp "$file" "$line" ;;
		esac
	done
	(cd "$root" && find . | cpio --quiet -o -H newc) | gzip -1 >"$1/initrd"
	rm -rf "$root"
}

build_kernel() {
	local kernel=$lab/kernels/$1 new=$lab/kernels/$1.new suite release
	suite=$(suite_of "$1")
	[ -n "$suite" ] || { echo "no kernel $1 in kernels.txt" >&2 && exit 2; }
	[ ! -e "$kernel/release" ] || return 0
	say KERNEL "$1 ($suite)"
	rm -rf "$kernel" "$new"
	mkdir -p "$new/lib"
	private_apt "$1" "$suite"
	if ! download "$new" >"$lab/kernels/$1.log" 2>&1; then
		mkdir -p "$kernel"
		{ grep -m 1 '^E: ' "$lab/kernels/$1.log" || echo "see $lab/kernels/$1.log"; } >"$kernel/missing"
		say MISSING "$1: $(cat "$kernel/missing")"
		rm -rf "$new"
		return 0
	fi
	mv "$(find "$new/unpacked" -path '*lib/modules' -type d)" "$new/lib/modules"
	mv "$(find "$new/unpacked" "$new/lib" -name 'vmlinuz*' -type f)" "$new/vmlinuz"
	release=$(ls "$new/lib/modules")
	depmod --basedir "$new" "$release"
	make_initrd "$new" "$release"
	rm -rf "$new/unpacked" "$new/packages"
	echo "$release" >"$new/release"
	mv "$new" "$kernel"
}

packages_of() { sed 's/#.*//' "$here/$1" | xargs | tr ' ' ,; }

# TREE SUITE PACKAGES: a minimal Debian in a folder; what was said stands in TREE.log
make_tree() {
	rm -rf --one-file-system "$1"
	timeout 900 debootstrap --variant=minbase --include="$3" "$2" "$1" "$(mirror Debian)" >"$1.log" 2>&1 || return 1
	rm -rf "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/*
	mkdir -p "$1/lab"
}

# TREE IMAGE SIZE: the disk of a guest
make_image() {
	mkfs.ext4 -q -F -d "$1" "$2.new" "$3" >>"$1.log" 2>&1
	mv "$2.new" "$2"
}

# TREE RELEASE: headers of a kernel that the lab has, and the links to them that stand beside its modules
add_headers() {
	local packages="linux-headers-$2 linux-headers-${2%-*}-common linux-kbuild-${2%%.0-*}"
	private_apt witness bookworm
	mkdir -p "$1/headers"
	# shellcheck disable=SC2086 # one word a package
	(cd "$1/headers" && timeout 300 apt-get -qq update && timeout 300 apt-get -qq download $packages) || return 1
	for package in "$1"/headers/*.deb; do dpkg-deb -x "$package" "$1/headers/unpacked"; done
	cp -a "$1/headers/unpacked/usr/." "$1/usr/"
	cp -a "$1/headers/unpacked/lib/modules" "$1/usr/lib/headers"
	rm -rf "$1/headers"
}

# NAME SUITE [SIZE [KERNEL]]: a minimal Debian with the packages of NAME.txt, and the headers of KERNEL: the disk
# NAME.ext4 of SIZE, or the folder NAME.  The old one stays until the new one is made.  What is not there is for the tests
# to say: an archive that changes every day may be broken today.
build_disk() {
	local new=$lab/$1.new made=$lab/$1${3:+.ext4} packages release=""
	packages=$(packages_of "$1.txt")
	[ -z "${4-}" ] || release=$(cat "$lab/kernels/$4/release" 2>/dev/null || echo unknown)
	[ ! -e "$made" ] || [ "$packages${release:+ $release}" != "$(cat "$lab/$1.packages" 2>/dev/null)" ] || return 0
	say DISK "$made"
	rm -f "$lab/$1.packages" "$lab/$1.missing"
	if make_tree "$new" "$2" "$packages" && { [ -z "$release" ] || add_headers "$new" "$release" >>"$new.log" 2>&1; }; then
		if [ -n "${3-}" ]; then
			make_image "$new" "$made" "$3"
		else
			rm -rf --one-file-system "$made"
			mv "$new" "$made"
		fi
		mv "$new.log" "$lab/$1.log"
		echo "$packages${release:+ $release}" >"$lab/$1.packages"
	else
		{ grep -m 1 '^E: ' "$new.log" || echo "see $new.log"; } >"$lab/$1.missing"
		say MISSING "$1: $(cat "$lab/$1.missing")"
	fi
	rm -rf --one-file-system "$new"
}

build_states() {
	[ "$here/guest/states.asl" -nt "$lab/states.aml" ] || return 0
	say ACPI "$lab/states.aml"
	iasl -p "$lab/states" "$here/guest/states.asl" >"$lab/states.log" 2>&1 || { tail -n 5 "$lab/states.log" >&2 && exit 1; }
}

# Deadlines, because a package source may hang; what went wrong is left for the tests to say.
mkdir -p "$lab/kernels"
echo "it was not built to its end" >"$lab/missing"
trap '[ $? = 0 ] || echo "see what make lab printed, $lab/root.new.log and $lab/states.log" >>"$lab/missing"' EXIT
build_states
[ -n "$(mirror Debian)" ] || { echo "apt has no package lists: run apt-get update first" >&2 && exit 1; }
build_disk root bookworm 1500M
[ ! -e "$lab/root.missing" ] || { tail -n 5 "$lab/root.new.log" >&2 && exit 1; }
build_disk sid sid
for name in "$@"; do case $name in witness | servers) ;; *) build_kernel "$name" ;; esac; done
# A disk of its own: a JVM and a database are of no use to the other guests, and would be unpacked for each make test.
case " $* " in *" $dtrace_kernel "*) build_disk dtrace sid 2500M ;; esac
case " $* " in *" witness "*) build_disk witness bookworm 1500M "$witness_kernel" ;; esac
case " $* " in *" servers "*) build_disk servers sid ;; esac
rm "$lab/missing"
