"""Writes the code points of the CJK subset to cjk.txt, one per line."""

def characters(codec, leads, trails):
    for lead in leads:
        for trail in trails:
            try:
                yield bytes([lead, trail]).decode(codec)
            except UnicodeDecodeError:
                pass

HIGH = range(0xA1, 0xFF)
wanted = set()
wanted |= set(characters("gb2312", HIGH, HIGH))                            # GB2312, all rows
wanted |= set(characters("big5", range(0xA1, 0xC7), range(0x40, 0xFF)))    # Big5, symbols, level 1
wanted |= set(characters("euc_jp", range(0xA1, 0xD0), HIGH))               # JIS X 0208, symbols, level 1
points = {ord(c) for c in wanted if len(c) == 1} | set(range(0x3000, 0x3100)) | set(range(0xFF01, 0xFFE7))
with open("cjk.txt", "w") as out:
    out.write("\n".join(f"{p:04X}" for p in sorted(points) if p >= 0x2100))
