"""Forty thousand people as LDIF."""

print("dn: dc=shop,dc=example\nobjectClass: dcObject\nobjectClass: organization\no: Shop\ndc: shop\n")
for n in range(40_000):
    print(f"dn: cn=person {n},dc=shop,dc=example\nobjectClass: inetOrgPerson")
    print(f"cn: person {n}\nsn: {n}\nmail: person{n}@shop.example\n")
