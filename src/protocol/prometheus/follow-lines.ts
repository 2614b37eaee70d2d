/** follow-lines.wat, assembled. */
const MODULE =
  "AGFzbQEAAAABEAJgAX8Bf2AGf39/f39/AX8CDwEDZW52Bm1lbW9yeQIAAQMDAgABBwoBBmZvbGxvdwABCowEAh4AA0AgAC0AAEEwa0EJTQRAIABB" +
  "AWohAAwBCwsgAAvqAwEKfwJAA0AgACABTw0BIAIhBkEAIQcgBCEIAkADQAJAA0AgByADTg0DIAYgB2r9AAAAIAAgB2r9AAAA/SP9ZCEJIAlB//8D" +
  "RgRAIAdBEGohBwwBCyAHIAlBf3NoaiEHDAELCyAHIANODQECQANAIAggBU8NBSAIKAIEIAdODQEgCEEIaiEIDAALCyAHIAgoAgBIDQMgACAHaiEK" +
  "AkADQCAKLQAAIQ4gDkEiRg0BIA5BIEkNBSAOQf4ASw0FIA5B3ABGDQUgCkEBaiEKDAALCyAKIABrIQcgByAIKAIEayELIAsEQCAGIAtrIQYgAyAL" +
  "aiEDIAhBBGohDANAIAwgDCgCACALajYCACAMQQRqIQwgDCAFSQ0ACwsgCEEIaiEIDAALCyAAIANqIQwgDC0AAEEgRw0BIAxBAWohDCAMLQAAQS1G" +
  "BEAgDEEBaiEMCyAMIQ8gDBAAIQ0gDCANRg0BIA0tAABBLkYEQCANQQFqIQwgDBAAIQ0gDCANRg0CCyANLQAAQeUARgRAIA1BAWohDCAMLQAAIQ4g" +
  "DkErRiAOQS1GcgRAIAxBAWohDAsgDBAAIQ0gDCANRg0CIA0gDGtBAksNAgsgDS0AAEEKRw0BIA0gD2tByAFLDQEgACECIA1BAWohAAwACwsgAAs=";

/** The part in use here: the types of Node have the names alone. */
declare global {
  namespace WebAssembly {
    class Memory {
      constructor(limits: { readonly initial: number; readonly maximum: number });
      readonly buffer: ArrayBuffer;
    }
    class Module {
      constructor(bytes: Uint8Array);
    }
    class Instance {
      constructor(module: Module, imports: { readonly env: { readonly memory: Memory } });
      readonly exports: Readonly<Record<string, unknown>>;
    }
  }
}

const PAGE_BYTES = 64 * 1024;
const BOUNDS_AT = 0;
const MAX_BOUNDS = 128;
const TEXT_AT = 4096;
/** As much as is followed at once. */
export const MAX_LOADED_BYTES = 64 * 1024;
/** The last lines are compared sixteen bytes at a time, too: what is read behind them is not looked at. */
const SLACK_BYTES = 4096;

/** LineShape's loop in WebAssembly, three times as fast as in JavaScript (bench/metrics-merge). Works on a copy of the text. */
export interface FollowLines {
  readonly text: Buffer;
  readonly bounds: Int32Array;
  /** Positions are in `text`; `boundCount` of the bounds are in use, and may be others afterwards. */
  follow(at: number, end: number, before: number, length: number, boundCount: number): number;
}

let shared: { readonly code: FollowLines | undefined } | undefined;

/** One for the process, made when it is first needed: what it works on is copied in and followed in one turn. */
export function followLines(): FollowLines | undefined {
  shared ??= { code: createFollowLines() };
  return shared.code;
}

/** Undefined where WebAssembly is switched off, its vectors are unknown, or there is no address space for it. */
export function createFollowLines(): FollowLines | undefined {
  try {
    const pages = Math.ceil((TEXT_AT + MAX_LOADED_BYTES + SLACK_BYTES) / PAGE_BYTES);
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    const module = new WebAssembly.Module(Buffer.from(MODULE, "base64"));
    const { follow } = new WebAssembly.Instance(module, { env: { memory } }).exports as { follow: Follow };
    return {
      text: Buffer.from(memory.buffer, TEXT_AT, MAX_LOADED_BYTES),
      bounds: new Int32Array(memory.buffer, BOUNDS_AT, MAX_BOUNDS),
      follow: (at, end, before, length, boundCount) =>
        follow(TEXT_AT + at, TEXT_AT + end, TEXT_AT + before, length, BOUNDS_AT, BOUNDS_AT + 4 * boundCount) - TEXT_AT,
    };
  } catch {
    return undefined;
  }
}

type Follow = (at: number, end: number, before: number, length: number, bounds: number, boundsEnd: number) => number;
