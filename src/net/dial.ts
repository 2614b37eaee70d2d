import type { Duplex } from "node:stream";

/** Opens the byte stream below TLS or HTTP. The signal ends the attempt; what was opened by then is closed. */
export type Dial = (signal: AbortSignal) => Promise<Duplex>;
