"""Writes a browscap.ini as large as the real one: 60,000 patterns, of versions of browsers on systems."""

systems = [f"Windows NT {n}.{m}" for n in range(5, 11) for m in range(4)]
systems += [f"Macintosh; Intel Mac OS X 10_{n}" for n in range(6, 16)] + [f"Linux; Android {n}" for n in range(4, 14)]
browsers = [("Chrome", 120), ("Firefox", 115), ("Edge", 110), ("OPR", 100), ("Vivaldi", 6), ("YaBrowser", 23)]

print("[GJK_Browscap_Version]\nVersion=6001001\nReleased=2023\n")
print('[DefaultProperties]\nBrowser="Default Browser"\nPlatform="unknown"\n')
written = 0
while written < 60_000:
    for name, last in browsers:
        for version in range(1, last):
            for system in systems:
                if written < 60_000:
                    part = written % 7
                    last_part = f"*{name}/{version}.{part}*Safari/*"
                    print(f"[Mozilla/5.0 (*{system}*) applewebkit/* (*khtml*like*gecko*) {last_part}]")
                    print(f'Parent="DefaultProperties"\nBrowser="{name}"\nVersion="{version}.{part}"\n')
                    written += 1
print('[*]\nParent="DefaultProperties"\n')
