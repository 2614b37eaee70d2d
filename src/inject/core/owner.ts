import { isJsonObject } from "../../base/json-object.ts";
import { asText, type Json, objects, textMap } from "./json.ts";

/** The workload that a pod belongs to, as the proxy's environment names it. */
export interface WorkloadOwner {
  readonly name: string;
  readonly namespace: string;
  readonly kind: string;
  readonly apiVersion: string;
}

/** A bare pod says by its controller reference and labels which workload made it. */
export function ownerOfPod(metadata: Json): WorkloadOwner {
  const namespace = asText(metadata.namespace);
  const self = { name: asText(metadata.name), namespace, kind: "Pod", apiVersion: "v1" };
  if (asText(metadata.generateName) === "") return self;
  const controller = objects(metadata.ownerReferences).find((reference) => reference.controller === true);
  if (!isJsonObject(controller)) return self;
  const owner = {
    name: asText(controller.name),
    namespace,
    kind: asText(controller.kind),
    apiVersion: asText(controller.apiVersion),
  };
  return ownerOfController(owner, textMap(metadata.labels));
}

function ownerOfController(owner: WorkloadOwner, labels: Readonly<Record<string, string>>): WorkloadOwner {
  const hash = labels["pod-template-hash"] ?? "";
  const rolloutHash = labels["rollouts-pod-template-hash"] ?? "";
  const deploymentConfig = labels.deploymentconfig ?? "";
  switch (owner.kind) {
    case "ReplicaSet":
      if (hash !== "" && owner.name.endsWith(hash)) {
        return { ...owner, kind: "Deployment", name: owner.name.slice(0, -(hash.length + 1)) };
      }
      if (rolloutHash !== "" && owner.name.endsWith(rolloutHash)) {
        const name = owner.name.slice(0, -(rolloutHash.length + 1));
        return { ...owner, kind: "Rollout", apiVersion: "v1alpha1", name };
      }
      return owner;
    case "ReplicationController":
      return deploymentConfig === "" ? owner : { ...owner, kind: "DeploymentConfig", name: deploymentConfig };
    case "Job": {
      // A CronJob names its jobs after the minute they were due.
      const name = /^(.+)-\d{8,10}$/.exec(owner.name)?.[1];
      return name === undefined ? owner : { ...owner, kind: "CronJob", apiVersion: "batch/v1", name };
    }
    default:
      return owner;
  }
}
