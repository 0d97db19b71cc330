"""The words of a PDF that Chromium wrote, as far as tests need them."""

from __future__ import annotations

import re
import unicodedata
import zlib

OBJECT = re.compile(rb"(\d+) 0 obj\s(.*?)endobj", re.DOTALL)
STREAM = re.compile(rb"stream\r?\n(.*?)\r?\n?endstream", re.DOTALL)
# A font is chosen, or glyphs are shown by their numbers of four digits.
SHOWN = re.compile(rb"/F(\d+) [\d.]+ Tf|<([0-9A-Fa-f]+)>")


def pdf_text(content: bytes) -> str:
    """Read all words of a PDF in the order in which they were drawn, without any spaces."""
    objects = {int(number): body for number, body in OBJECT.findall(content)}
    fonts = {
        number: _letters(_stream(objects[int(found.group(1))]))
        for number, body in objects.items()
        if (found := re.search(rb"/ToUnicode (\d+) 0 R", body))
    }
    words: list[str] = []
    for drawn in filter(lambda drawn: b" Tf" in drawn, map(_stream, objects.values())):
        letters: dict[int, str] = {}
        for font, glyphs in SHOWN.findall(drawn):
            if font:
                letters = fonts.get(int(font), {})
            codes = re.findall(rb"....", glyphs)
            words += [letters.get(int(code, 16), "") for code in codes]
    return squeezed("".join(words))


def squeezed(text: str) -> str:
    """Leave out spaces, which a PDF places as it likes, and take ligatures apart."""
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))


def _stream(body: bytes) -> bytes:
    found = STREAM.search(body)
    if found is None:
        return b""
    if b"/FlateDecode" not in body:
        return found.group(1)
    # The last byte may have looked like the end of a line: only a checksum is then cut short.
    return zlib.decompressobj().decompress(found.group(1))


def _letters(cmap: bytes) -> dict[int, str]:
    """Which letters the numbers of a font's glyphs stand for."""
    table = {}
    for block in re.findall(rb"beginbfchar(.*?)endbfchar", cmap, re.DOTALL):
        for code, letters in re.findall(rb"<(\w+)> <(\w+)>", block):
            table[int(code, 16)] = bytes.fromhex(letters.decode()).decode("utf-16-be")
    for block in re.findall(rb"beginbfrange(.*?)endbfrange", cmap, re.DOTALL):
        for first, last, letters in re.findall(rb"<(\w+)> <(\w+)> <(\w+)>", block):
            start = int(letters, 16)
            for step in range(int(last, 16) - int(first, 16) + 1):
                table[int(first, 16) + step] = chr(start + step)
    return table
