# SPDX-License-Identifier: MIT
"""Are the charts well-formed XML that needs nothing from elsewhere? check_xml.py FOLDER"""

import pathlib
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"


def problems(path):
    text = path.read_bytes().decode("utf-8")
    root = tree.fromstring(text)
    if root.tag != SVG + "svg":
        yield f"the root is {root.tag}"
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    if len(ids) != len(set(ids)):
        yield "an id twice"
    for name in ("title", "desc"):
        element = root.find(SVG + name)
        if element is None or not (element.text or "").strip():
            yield f"no {name}"
        elif element.get("id") not in root.get("aria-labelledby", ""):
            yield f"the {name} does not name the picture"
    for element in root.iter():
        for name, value in element.attrib.items():
            if "href" in name or "://" in value or "NaN" in value or "nan" in value.split():
                yield f"{element.tag} has {name}={value}"
            if "url(#" in value and value[5:-1] not in ids:
                yield f"{value} refers to nothing"
    if "http" in text.replace("http://www.w3.org/2000/svg", ""):
        yield "an address"


def main():
    paths = sorted(pathlib.Path(sys.argv[1]).glob("*.svg"))
    found = [f"{path.name}: {what}" for path in paths for what in problems(path)]
    print("\n".join(found))
    print(f"{len(paths)} charts, {len(found)} problems")
    return 0 if len(paths) >= 8 and not found else 1


if __name__ == "__main__":
    sys.exit(main())
