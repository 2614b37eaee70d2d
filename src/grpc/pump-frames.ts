import type { Readable } from "node:stream";
import type { FrameScanner } from "./frame-scanner.ts";

/**
 * Feeds a stream to the scanner. While a sink asks for time the stream is paused, so that HTTP/2 flow control holds the peer back.
 * `done` is called at most once: at the end of the peer's side, or with what scanner or sink threw; `isCut` says that the end came in the
 * middle of a message.
 */
export function pumpFrames(
  stream: Readable,
  scanner: FrameScanner,
  done: (failure?: unknown, isCut?: boolean) => void,
): void {
  const stopWith = (failure?: unknown, isCut = false) => {
    stream.off("data", onData).off("end", onEnd);
    done(failure, isCut);
  };
  const resume = () => void stream.resume();
  const onData = (chunk: Buffer) => {
    try {
      const wait = scanner.feed(chunk);
      if (wait === undefined) return;
      stream.pause();
      wait.then(resume, stopWith);
    } catch (failure) {
      stream.pause();
      stopWith(failure);
    }
  };
  const onEnd = () => {
    try {
      scanner.finish();
      stopWith();
    } catch (failure) {
      stopWith(failure, true);
    }
  };
  stream.on("data", onData).on("end", onEnd);
}
