"""CPU samples in accesses to emulated clocks and devices."""

from collections.abc import Mapping

from perfdiag.diagnosis.evidence.cpu.stack_samples import SAMPLED, CpuSamples, Part
from perfdiag.diagnosis.rule import Evidence
from perfdiag.diagnosis.significance import duration, percent
from perfdiag.model.model import Model

CLOCK_READS = ("acpi_pm_read", "read_hpet", "hpet_read", "pit_read", "i8253_read", "read_hv_clock_msr")
# Driver of an emulated device -> how its functions begin.  The register accesses themselves are counted with them,
# because the innermost function of a trapped access is often the accessor.
EMULATED: Mapping[str, tuple[str, ...]] = {
    "e1000": ("e1000_",),
    "e1000e": ("e1000e_", "e1000_"),
    "8139too": ("rtl8139_",),
    "8139cp": ("cp_rx_poll", "cp_start_xmit", "cp_interrupt", "cp_tx"),
    "pcnet32": ("pcnet32_",),
    "ne2k-pci": ("ei_", "ne2k_"),
    "tulip": ("tulip_",),
    "igb": ("igb_",),
    "ata_piix": ("ata_", "piix_"),
    "ata_generic": ("ata_",),
    "ahci": ("ahci_", "ata_"),
    "sym53c8xx": ("sym_", "sym53c8xx_"),
    "mptspi": ("mpt_", "mptspi_", "mptscsih_"),
    "mptsas": ("mpt_", "mptscsih_"),
    "lsi": ("sym_",),
    "megaraid_sas": ("megasas_",),
    "BusLogic": ("blogic_",),
    "am53c974": ("pci_esp_", "scsi_esp_"),
}
DRIVERS = tuple(prefix for prefixes in EMULATED.values() for prefix in prefixes)


def said(text: str, contradiction: str) -> str:
    """Return the samples' result, with the host's contradiction."""
    return f"{text}; but {contradiction}" if contradiction else text


def sampled(part: Part, samples: CpuSamples, what: str, ns: int, model: Model) -> Evidence:
    """Return the evidence of CPU samples, with the error of the sample."""
    error_ns = part.error * model.ns(*SAMPLED)
    return Evidence(
        f"{duration(ns)} +-{duration(error_ns)}: {percent(part.share)} of {samples.count:,} CPU samples {what}",
        float(ns),
        "ns",
        "stack samples",
        error=error_ns,
    )
