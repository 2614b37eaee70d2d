export { GRPC_GENERATOR, grpcResources } from "./grpc-resources.ts";
