"""DIRECTORY: a project in PHP whose page loads 600 classes."""

import pathlib
import sys

top = pathlib.Path(sys.argv[1])
top.mkdir()
METHOD = """  public function method{n}($first, array $options = []) {{
    if (isset($options['limit']) && $first > {n}) {{ return sprintf('%s-%d', $this->name, $first * {n}); }}
    foreach ($options as $key => $value) {{ $this->seen[$key] = [$value, 'number' => {n}]; }}
    return $this->name . ':' . $first;
  }}
"""
for number in range(600):
    body = "".join(METHOD.format(n=n) for n in range(32))
    text = f"<?php\nclass Part{number} {{\n  private $seen = [];\n  public $name = 'part{number}';\n{body}}}\n"
    (top / f"part{number}.php").write_text(text)
LOAD = 'for ($n = 0; $n < 600; $n++) { require __DIR__ . "/part$n.php"; }'
(top / "index.php").write_text(f"<?php\n{LOAD}\necho (new Part7)->method3(5);\n")
