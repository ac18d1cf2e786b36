import ftplib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import load


def client():
    ftp = ftplib.FTP()
    ftp.connect("127.0.0.1", int(sys.argv[1]), timeout=20)
    ftp.login()
    return lambda: ftp.retrbinary("RETR pub/file", lambda data: None)


load.run(client, 2, int(sys.argv[2]), 2)
