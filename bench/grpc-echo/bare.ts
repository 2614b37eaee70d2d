/** A Node process that does nothing: what memory costs before any gRPC. */
process.on("message", () => undefined);
process.send?.("ready");
