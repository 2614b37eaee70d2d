/** CRC-32 as in gzip: a polynomial over two elements, lowest power in the highest bit. */
const POLYNOMIAL = 0xedb8_8320;
const ONE = 0x8000_0000;
const X_TO_8 = 0x0080_0000;

/** What a CRC-32 is multiplied by when so many bytes follow: x to the power of their bits. Takes steps by the logarithm of the length. */
export function crcShift(bytes: number): number {
  let result = ONE;
  let square = X_TO_8;
  for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}

/** The CRC-32 of two pieces in a row from those of each; `shift` is `crcShift` of the second one's length. */
export function joinCrc(first: number, second: number, shift: number): number {
  return (multiply(shift, first) ^ second) >>> 0;
}

function multiply(first: number, second: number): number {
  let product = 0;
  let term = second;
  for (let power = ONE; power !== 0; power >>>= 1) {
    if ((first & power) !== 0) product ^= term;
    term = (term & 1) === 0 ? term >>> 1 : (term >>> 1) ^ POLYNOMIAL;
  }
  return product >>> 0;
}
