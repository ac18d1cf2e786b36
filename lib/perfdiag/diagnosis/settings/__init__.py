"""Settings that are not the usual ones and bear on the time of the target.

Rules name causes that they know.  What somebody once set, and forgot, is endless; but what a setting bears on is known:
it makes some accounts longer.  So all settings on the way of the target's time are held against what a kernel has by
itself, and those that differ are told, whether or not a rule knows the case.
"""
