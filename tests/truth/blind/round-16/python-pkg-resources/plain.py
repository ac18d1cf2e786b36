import time

print(time.strftime("%A"))
