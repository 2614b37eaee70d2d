import { defineMethod } from "../../grpc/index.ts";
import { int64, type MessageType, message, string } from "../../protobuf/wire/message.ts";

const quoteRequest = message({ product: string(1) });
const quoteResponse = message({ cents: int64(1), servedBy: string(2) });

/** The demo's one gRPC service. */
export const quoteMethod = defineMethod<"unary", MessageType<typeof quoteRequest>, MessageType<typeof quoteResponse>>({
  path: "/shop.Prices/Quote",
  kind: "unary",
  request: quoteRequest,
  response: quoteResponse,
});
