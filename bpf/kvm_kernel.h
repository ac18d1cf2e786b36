/* SPDX-License-Identifier: GPL-2.0-only */
/* As kernel.h, for kvm_amd and kvm_intel, which are modules: read with BPF_CORE_READ(), as in nfs_kernel.h. */
#pragma once
#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* What a module of one vendor keeps around struct kvm_vcpu, which stands first in it. */
struct vmcb_control_area {
	__u32 exit_code; /* 64 bits wide on 7.2: the lower half */
};

struct vmcb {
	struct vmcb_control_area control;
};

struct vcpu_svm {
	struct vmcb *vmcb;
};

union vmx_exit_reason {
	__u32 full;
};

struct vcpu_vmx {
	union vmx_exit_reason exit_reason;
};

struct vcpu_vt {
	union vmx_exit_reason exit_reason;
};

/* See vmx_exit_code(). */
struct vcpu_vmx___vt {
	struct vcpu_vt vt;
};

#pragma clang attribute pop
