import base64
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import load

VALUE = base64.b64encode(b"x" * 300).decode()
BODY = f'{{"key": "{base64.b64encode(b"registry/pod").decode()}", "value": "{VALUE}"}}'
load.run(load.http(int(sys.argv[1]), "/v3/kv/put", body=BODY), 30, int(sys.argv[2]), 16)
