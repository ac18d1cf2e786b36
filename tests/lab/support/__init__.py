"""The guests of the lab, and what stands in for the support of the live tests inside one."""
