/** The fields of a protobuf message, by number; absent ones have the default of their type. */
export interface Fields {
  has(number: number): boolean;
  number(number: number): number;
  double(number: number): number;
  bytes(number: number): Buffer;
  text(number: number): string;
  message(number: number): Fields;
  messages(number: number): Fields[];
}

/** Reads the wire format of protobuf: https://protobuf.dev/programming-guides/encoding/. */
export function readFields(message: Buffer): Fields {
  const fields = new Map<number, (Buffer | bigint)[]>();
  for (let at = 0; at < message.length; ) {
    const [tag, behindTag] = varint(message, at);
    const [value, behind] = valueAt(message, behindTag, Number(tag & 7n));
    const number = Number(tag >> 3n);
    fields.set(number, [...(fields.get(number) ?? []), value]);
    at = behind;
  }
  const last = (number: number) => fields.get(number)?.at(-1);
  const bytes = (number: number) => {
    const value = last(number);
    return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
  };
  return {
    has: (number) => fields.has(number),
    number: (number) => {
      const value = last(number) ?? 0n;
      return Number(Buffer.isBuffer(value) ? value.readBigUInt64LE() : value);
    },
    double: (number) => bytes(number).readDoubleLE(),
    bytes,
    text: (number) => bytes(number).toString("utf8"),
    message: (number) => readFields(bytes(number)),
    messages: (number) => (fields.get(number) ?? []).map((value) => readFields(value as Buffer)),
  };
}

function valueAt(message: Buffer, at: number, wireType: number): [value: Buffer | bigint, behind: number] {
  if (wireType === 0) return varint(message, at);
  if (wireType === 1) return [message.subarray(at, at + 8), at + 8];
  if (wireType === 5) return [message.subarray(at, at + 4), at + 4];
  if (wireType !== 2) throw new Error(`wire type ${wireType} at ${at}`);
  const [length, begin] = varint(message, at);
  const end = begin + Number(length);
  return [message.subarray(begin, end), end];
}

function varint(message: Buffer, at: number): [value: bigint, behind: number] {
  let value = 0n;
  for (let shift = 0n, i = at; ; i += 1, shift += 7n) {
    const byte = BigInt(message.readUInt8(i));
    value |= (byte & 127n) << shift;
    if (byte < 128n) return [value, i + 1];
  }
}
