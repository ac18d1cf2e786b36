/*
 * What the guests' processors say of themselves: idle states and clocks.  The latencies are declared only, each state
 * is the same HLT; likewise the clocks.
 */
DefinitionBlock ("states.aml", "SSDT", 2, "LAB", "STATES", 1)
{
	External (\_SB.CPUS.C000, DeviceObj)
	External (\_SB.CPUS.C001, DeviceObj)
	/* Functional fixed hardware of type C1 is a plain HLT, whatever latency (us) is declared. */
	Name (\CSTP, Package () { 4,
		Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0, 0) }, 1, 2, 1000 },
		Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0, 0) }, 1, 100, 500 },
		Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0, 0) }, 1, 800, 200 },
		Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0, 0) }, 1, 3000, 100 } })
	/* MHz, mW, latency us, bus master latency us, control, status */
	Name (\PSTP, Package () {
		Package () { 2400, 20000, 10, 10, 0x10, 0x10 },
		Package () { 1800, 15000, 10, 10, 0x11, 0x11 },
		Package () { 1200, 10000, 10, 10, 0x12, 0x12 } })
	Name (\PCTP, Package () {
		ResourceTemplate () { Register (SystemIO, 8, 0, 0xE0, 1) },
		ResourceTemplate () { Register (SystemIO, 8, 0, 0xE0, 1) } })
	Scope (\_SB.CPUS.C000) {
		Method (_CST, 0) { Return (\CSTP) }
		Method (_PSS, 0) { Return (\PSTP) }
		Method (_PCT, 0) { Return (\PCTP) }
		Method (_PPC, 0) { Return (0) }
	}
	Scope (\_SB.CPUS.C001) {
		Method (_CST, 0) { Return (\CSTP) }
		Method (_PSS, 0) { Return (\PSTP) }
		Method (_PCT, 0) { Return (\PCTP) }
		Method (_PPC, 0) { Return (0) }
	}
}
