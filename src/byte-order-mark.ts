const [FIRST, SECOND, THIRD] = [0xef, 0xbb, 0xbf];

/** UTF-8 without the byte-order mark that some programs put before it: a reader of JSON may skip it (RFC 8259 §8.1). */
export function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === FIRST && bytes[1] === SECOND && bytes[2] === THIRD ? bytes.subarray(3) : bytes;
}
