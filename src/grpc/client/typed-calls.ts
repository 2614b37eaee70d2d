import { MessageReader } from "../message-reader.ts";
import { type CallKind, encodeMessage, type Method } from "../method.ts";
import { GrpcError, toGrpcError } from "../status.ts";
import type { ClientStream } from "./client-stream.ts";
import type { BidiCall, ClientStreamCall, ServerStreamCall } from "./client-types.ts";

export interface OpenCall<Request, Response> {
  readonly call: ClientStream;
  readonly method: Method<CallKind, Request, Response>;
  readonly maxReceiveBytes: number;
}

/** Sends the only request and waits for the only response. */
export function runUnary<Request, Response>(open: OpenCall<Request, Response>, request: Request): Promise<Response> {
  const responses = readResponses(open);
  sendOnly(open, request);
  return onlyResponse(open.call, responses);
}

export function toServerStreamCall<Request, Response>(
  open: OpenCall<Request, Response>,
  request: Request,
): ServerStreamCall<Response> {
  const responses = readResponses(open);
  sendOnly(open, request);
  return Object.assign(responses, { cancel: (reason?: string) => open.call.cancel(reason) });
}

export function toClientStreamCall<Request, Response>(
  open: OpenCall<Request, Response>,
): ClientStreamCall<Request, Response> {
  const responses = readResponses(open);
  const response = () => onlyResponse(open.call, responses);
  const finish = () => {
    open.call.end();
    return response();
  };
  return { ...requestWriter(open), response, finish };
}

export function toBidiCall<Request, Response>(open: OpenCall<Request, Response>): BidiCall<Request, Response> {
  return { ...requestWriter(open), responses: readResponses(open) };
}

function requestWriter<Request, Response>({ call, method }: OpenCall<Request, Response>) {
  return {
    write: async (message: Request) => call.send(encodeMessage(method.request, message)),
    end: () => call.end(),
    cancel: (reason?: string) => call.cancel(reason),
  };
}

/** The response says how it went; a request that cannot be sent fails the call here. */
function sendOnly<Request, Response>({ call, method }: OpenCall<Request, Response>, request: Request): void {
  try {
    call.send(encodeMessage(method.request, request));
    call.end();
  } catch (failure) {
    call.fail(toGrpcError(failure));
  }
}

function readResponses<Request, Response>(open: OpenCall<Request, Response>): MessageReader<Response> {
  const { call, method } = open;
  const reader = new MessageReader<Response>({
    decode: method.response.decode,
    maxBytes: open.maxReceiveBytes,
    encoding: () => call.encoding,
    onEnd: () => call.finishReading(),
    onFault: (fault) => call.fail(fault),
    onReturn: () => call.cancel("the caller stopped reading"),
  });
  call.readFrom((stream) => reader.readFrom(stream));
  call.whenEnded(({ failure, isLocal }) => {
    if (isLocal && failure !== undefined) reader.abort(failure);
    else reader.end(failure);
  });
  return reader;
}

async function onlyResponse<Response>(call: ClientStream, responses: MessageReader<Response>): Promise<Response> {
  const first = await responses.next();
  if (first.done) throw new GrpcError("INTERNAL", "the server sent status OK without a response message");
  if ((await responses.next()).done) return first.value;
  const failure = new GrpcError("INTERNAL", "the server sent more than one response message");
  call.fail(failure);
  throw failure;
}
