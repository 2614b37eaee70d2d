import { WireWriter } from "../../../protobuf/wire/wire-writer.ts";

/** What is a client's own in an answer; the resources in between are shared with others. */
export interface ResponseHead {
  readonly version: string;
  readonly typeUrl: string;
  readonly nonce: string;
}

const DEBUG_ONLY_CONTROL_PLANE = 6;

/** A DiscoveryResponse around resources that are encoded already. */
export function sotwChunks(head: ResponseHead, body: readonly Buffer[], controlPlane = ""): readonly Buffer[] {
  const start = new WireWriter();
  if (head.version !== "") start.string(1, head.version);
  const end = new WireWriter();
  end.string(4, head.typeUrl);
  end.string(5, head.nonce);
  if (controlPlane !== "") {
    const identifier = new WireWriter();
    identifier.string(1, controlPlane);
    end.bytes(DEBUG_ONLY_CONTROL_PLANE, identifier.finish());
  }
  return [start.finish(), ...body, end.finish()];
}

/** A DeltaDiscoveryResponse around resources that are encoded already. */
export function deltaChunks(
  head: ResponseHead,
  body: readonly Buffer[],
  removed: readonly string[],
): readonly Buffer[] {
  const start = new WireWriter();
  if (head.version !== "") start.string(1, head.version);
  const end = new WireWriter();
  end.string(4, head.typeUrl);
  end.string(5, head.nonce);
  for (const name of removed) end.string(6, name);
  return [start.finish(), ...body, end.finish()];
}
