/**
 * The types of the Kubernetes API that a workload is made of, one line each: the name, then its members in declaration order.
 *
 * A member is `name=GoName:TYPE` (the Go name where it is not the capitalized name): `s` text, `i` integer, `b` boolean, `q` quantity,
 * `x` integer or text, `t` time, `any`; `[T` a list, `{T` a map of T, `*T` a pointer (unset differs from zero). `!` is printed also when
 * it is empty; `@key` says by which member the items of a list merge, a bare `@` that the list is a set; `~` is the retainKeys strategy.
 */
export const KUBERNETES_TYPES = `
AWSElasticBlockStoreVolumeSource volumeID:s! fsType=FSType:s partition:i readOnly:b
Affinity nodeAffinity:*NodeAffinity podAffinity:*PodAffinity podAntiAffinity:*PodAntiAffinity
AppArmorProfile type:s! localhostProfile:*s
AzureDiskVolumeSource diskName:s! diskURI=DataDiskURI:s! cachingMode:*s fsType=FSType:*s readOnly:*b kind:*s
AzureFileVolumeSource secretName:s! shareName:s! readOnly:b
CSIVolumeSource driver:s! readOnly:*b fsType=FSType:*s volumeAttributes:{s nodePublishSecretRef:*LocalObjectReference
Capabilities add:[s drop:[s
CephFSVolumeSource monitors:[s! path:s user:s secretFile:s secretRef:*LocalObjectReference readOnly:b
CinderVolumeSource volumeID:s! fsType=FSType:s readOnly:b secretRef:*LocalObjectReference
ClusterTrustBundleProjection name:*s signerName:*s labelSelector:*LabelSelector optional:*b path:s!
ConfigMapEnvSource name:s optional:*b
ConfigMapKeySelector name:s key:s! optional:*b
ConfigMapProjection name:s items:[KeyToPath optional:*b
ConfigMapVolumeSource name:s items:[KeyToPath defaultMode:*i optional:*b
Container name:s! image:s command:[s args:[s workingDir:s ports:[ContainerPort@containerPort envFrom:[EnvFromSource
  env:[EnvVar@name resources:ResourceRequirements resizePolicy:[ContainerResizePolicy restartPolicy:*s
  restartPolicyRules:[ContainerRestartRule volumeMounts:[VolumeMount@mountPath volumeDevices:[VolumeDevice@devicePath
  livenessProbe:*Probe readinessProbe:*Probe startupProbe:*Probe lifecycle:*Lifecycle terminationMessagePath:s
  terminationMessagePolicy:s imagePullPolicy:s securityContext:*SecurityContext stdin:b stdinOnce:b tty=TTY:b
ContainerPort name:s hostPort:i containerPort:i! protocol:s hostIP:s
ContainerResizePolicy resourceName:s! restartPolicy:s!
ContainerRestartRule action:s exitCodes:*ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes operator:s values:[i
CronJob kind:s apiVersion=APIVersion:s metadata=ObjectMeta:ObjectMeta spec:CronJobSpec status:CronJobStatus
CronJobSpec schedule:s! timeZone:*s startingDeadlineSeconds:*i concurrencyPolicy:s suspend:*b jobTemplate:JobTemplateSpec!
  successfulJobsHistoryLimit:*i failedJobsHistoryLimit:*i
CronJobStatus active:[ObjectReference lastScheduleTime:*t lastSuccessfulTime:*t
DaemonSet kind:s apiVersion=APIVersion:s metadata=ObjectMeta:ObjectMeta spec:DaemonSetSpec status:DaemonSetStatus
DaemonSetCondition type:s! status:s! lastTransitionTime:t reason:s message:s
DaemonSetSpec selector:*LabelSelector! template:PodTemplateSpec! updateStrategy:DaemonSetUpdateStrategy minReadySeconds:i
  revisionHistoryLimit:*i
DaemonSetStatus currentNumberScheduled:i! numberMisscheduled:i! desiredNumberScheduled:i! numberReady:i! observedGeneration:i
  updatedNumberScheduled:i numberAvailable:i numberUnavailable:i collisionCount:*i conditions:[DaemonSetCondition@type
DaemonSetUpdateStrategy type:s rollingUpdate:*RollingUpdateDaemonSet
Deployment kind:s apiVersion=APIVersion:s metadata=ObjectMeta:ObjectMeta spec:DeploymentSpec status:DeploymentStatus
DeploymentCause type:s! imageTrigger:*DeploymentCauseImageTrigger
DeploymentCauseImageTrigger from:ObjectReference!
DeploymentCondition type:s! status:s! lastUpdateTime:t lastTransitionTime:t reason:s message:s
DeploymentConfig kind:s apiVersion=APIVersion:s metadata=ObjectMeta:ObjectMeta spec:DeploymentConfigSpec!
  status:DeploymentConfigStatus
DeploymentConfigSpec strategy:DeploymentConfigStrategy! minReadySeconds:i triggers:[DeploymentTriggerPolicy! replicas:i!
  revisionHistoryLimit:*i test:b! paused:b selector:{s template:*PodTemplateSpec
DeploymentConfigStrategy type:s customParams:any recreateParams:any rollingParams:any resources:ResourceRequirements labels:{s
  annotations:{s activeDeadlineSeconds:*i
DeploymentConfigStatus latestVersion:i! observedGeneration:i! replicas:i! updatedReplicas:i! availableReplicas:i!
  unavailableReplicas:i! details:*DeploymentDetails conditions:[DeploymentCondition@type readyReplicas:i
DeploymentDetails message:s causes:[DeploymentCause!
DeploymentSpec replicas:*i selector:*LabelSelector! template:PodTemplateSpec! strategy:DeploymentStrategy~ minReadySeconds:i
  revisionHistoryLimit:*i paused:b progressDeadlineSeconds:*i
DeploymentStatus observedGeneration:i replicas:i updatedReplicas:i readyReplicas:i availableReplicas:i unavailableReplicas:i
  terminatingReplicas:*i conditions:[DeploymentCondition@type collisionCount:*i
DeploymentStrategy type:s rollingUpdate:*RollingUpdateDeployment
DeploymentTriggerImageChangeParams automatic:b containerNames:[s from:ObjectReference! lastTriggeredImage:s
DeploymentTriggerPolicy type:s imageChangeParams:*DeploymentTriggerImageChangeParams
DownwardAPIProjection items:[DownwardAPIVolumeFile
DownwardAPIVolumeFile path:s! fieldRef:*ObjectFieldSelector resourceFieldRef:*ResourceFieldSelector mode:*i
DownwardAPIVolumeSource items:[DownwardAPIVolumeFile defaultMode:*i
EmptyDirVolumeSource medium:s sizeLimit:*q
EnvFromSource prefix:s configMapRef:*ConfigMapEnvSource secretRef:*SecretEnvSource
EnvVar name:s! value:s valueFrom:*EnvVarSource
EnvVarSource fieldRef:*ObjectFieldSelector resourceFieldRef:*ResourceFieldSelector configMapKeyRef:*ConfigMapKeySelector
  secretKeyRef:*SecretKeySelector fileKeyRef:*FileKeySelector
EphemeralContainer name:s! image:s command:[s args:[s workingDir:s ports:[ContainerPort@containerPort envFrom:[EnvFromSource
  env:[EnvVar@name resources:ResourceRequirements resizePolicy:[ContainerResizePolicy restartPolicy:*s
  restartPolicyRules:[ContainerRestartRule volumeMounts:[VolumeMount@mountPath volumeDevices:[VolumeDevice@devicePath
  livenessProbe:*Probe readinessProbe:*Probe startupProbe:*Probe lifecycle:*Lifecycle terminationMessagePath:s
  terminationMessagePolicy:s imagePullPolicy:s securityContext:*SecurityContext stdin:b stdinOnce:b tty=TTY:b
  targetContainerName:s
EphemeralVolumeSource volumeClaimTemplate:*PersistentVolumeClaimTemplate
ExecAction command:[s
FCVolumeSource targetWWNs:[s lun:*i fsType=FSType:s readOnly:b wwids=WWIDs:[s
FileKeySelector volumeName:s! path:s! key:s! optional:*b
FlexVolumeSource driver:s! fsType=FSType:s secretRef:*LocalObjectReference readOnly:b options:{s
FlockerVolumeSource datasetName:s datasetUUID:s
GCEPersistentDiskVolumeSource pdName=PDName:s! fsType=FSType:s partition:i readOnly:b
GRPCAction port:i! service:*s!
GitRepoVolumeSource repository:s! revision:s directory:s
GlusterfsVolumeSource endpoints=EndpointsName:s! path:s! readOnly:b
HTTPGetAction path:s port:x! host:s scheme:s httpHeaders=HTTPHeaders:[HTTPHeader
HTTPHeader name:s! value:s!
HostAlias ip=IP:s! hostnames:[s
HostPathVolumeSource path:s! type:*s
ISCSIVolumeSource targetPortal:s! iqn=IQN:s! lun:i! iscsiInterface=ISCSIInterface:s fsType=FSType:s readOnly:b portals:[s
  chapAuthDiscovery=DiscoveryCHAPAuth:b chapAuthSession=SessionCHAPAuth:b secretRef:*LocalObjectReference initiatorName:*s
ImageVolumeSource reference:s pullPolicy:s
Job kind:s apiVersion=APIVersion:s metadata=ObjectMeta:ObjectMeta spec:JobSpec status:JobStatus
JobCondition type:s! status:s! lastProbeTime:t lastTransitionTime:t reason:s message:s
JobSpec parallelism:*i completions:*i activeDeadlineSeconds:*i podFailurePolicy:*PodFailurePolicy successPolicy:*SuccessPolicy
  backoffLimit:*i backoffLimitPerIndex:*i maxFailedIndexes:*i selector:*LabelSelector manualSelector:*b
  template:PodTemplateSpec! ttlSecondsAfterFinished=TTLSecondsAfterFinished:*i completionMode:*s suspend:*b
  podReplacementPolicy:*s managedBy:*s
JobStatus conditions:[JobCondition@type startTime:*t completionTime:*t active:i succeeded:i failed:i terminating:*i
  completedIndexes:s failedIndexes:*s uncountedTerminatedPods:*UncountedTerminatedPods ready:*i
JobTemplateSpec metadata=ObjectMeta:ObjectMeta spec:JobSpec
KeyToPath key:s! path:s! mode:*i
LabelSelector matchLabels:{s matchExpressions:[LabelSelectorRequirement
LabelSelectorRequirement key:s! operator:s! values:[s
Lifecycle postStart:*LifecycleHandler preStop:*LifecycleHandler stopSignal:*s
LifecycleHandler exec:*ExecAction httpGet=HTTPGet:*HTTPGetAction tcpSocket=TCPSocket:*TCPSocketAction sleep:*SleepAction
LocalObjectReference name:s
ModifyVolumeStatus targetVolumeAttributesClassName:s status:s!
NFSVolumeSource server:s! path:s! readOnly:b
NodeAffinity requiredDuringSchedulingIgnoredDuringExecution:*NodeSelector
  preferredDuringSchedulingIgnoredDuringExecution:[PreferredSchedulingTerm
NodeSelector nodeSelectorTerms:[NodeSelectorTerm!
NodeSelectorRequirement key:s! operator:s! values:[s
NodeSelectorTerm matchExpressions:[NodeSelectorRequirement matchFields:[NodeSelectorRequirement
ObjectFieldSelector apiVersion=APIVersion:s fieldPath:s!
ObjectMeta name:s generateName:s namespace:s selfLink:s uid=UID:s resourceVersion:s generation:i creationTimestamp:t
  deletionTimestamp:*t deletionGracePeriodSeconds:*i labels:{s annotations:{s ownerReferences:[OwnerReference@uid finalizers:[s@
  managedFields:[any
ObjectReference kind:s namespace:s name:s uid=UID:s apiVersion=APIVersion:s resourceVersion:s fieldPath:s
OwnerReference apiVersion=APIVersion:s! kind:s! name:s! uid=UID:s! controller:*b blockOwnerDeletion:*b
PersistentVolumeClaim kind:s apiVersion=APIVersion:s metadata=ObjectMeta:ObjectMeta spec:PersistentVolumeClaimSpec
  status:PersistentVolumeClaimStatus
PersistentVolumeClaimCondition type:s! status:s! lastProbeTime:t lastTransitionTime:t reason:s message:s
PersistentVolumeClaimSpec accessModes:[s selector:*LabelSelector resources:VolumeResourceRequirements volumeName:s
  storageClassName:*s volumeMode:*s dataSource:*TypedLocalObjectReference dataSourceRef:*TypedObjectReference
  volumeAttributesClassName:*s
PersistentVolumeClaimStatus phase:s accessModes:[s capacity:{q conditions:[PersistentVolumeClaimCondition@type
  allocatedResources:{q allocatedResourceStatuses:{s currentVolumeAttributesClassName:*s modifyVolumeStatus:*ModifyVolumeStatus
PersistentVolumeClaimTemplate metadata=ObjectMeta:ObjectMeta spec:PersistentVolumeClaimSpec!
PersistentVolumeClaimVolumeSource claimName:s! readOnly:b
PhotonPersistentDiskVolumeSource pdID:s! fsType=FSType:s
Pod kind:s apiVersion=APIVersion:s metadata=ObjectMeta:ObjectMeta spec:PodSpec status:PodStatus
PodAffinity requiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm
  preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm
PodAffinityTerm labelSelector:*LabelSelector namespaces:[s topologyKey:s! namespaceSelector:*LabelSelector matchLabelKeys:[s
  mismatchLabelKeys:[s
PodAntiAffinity requiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm
  preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm
PodCertificateProjection signerName:s keyType:s maxExpirationSeconds:*i credentialBundlePath:s keyPath:s certificateChainPath:s
  userAnnotations:{s
PodDNSConfig nameservers:[s searches:[s options:[PodDNSConfigOption
PodDNSConfigOption name:s value:*s
PodFailurePolicy rules:[PodFailurePolicyRule!
PodFailurePolicyOnExitCodesRequirement containerName:*s operator:s! values:[i!
PodFailurePolicyOnPodConditionsPattern type:s! status:s!
PodFailurePolicyRule action:s! onExitCodes:*PodFailurePolicyOnExitCodesRequirement
  onPodConditions:[PodFailurePolicyOnPodConditionsPattern
PodOS name:s!
PodReadinessGate conditionType:s!
PodResourceClaim name:s! resourceClaimName:*s resourceClaimTemplateName:*s
PodSchedulingGate name:s!
PodSchedulingGroup podGroupName:*s
PodSecurityContext seLinuxOptions=SELinuxOptions:*SELinuxOptions windowsOptions:*WindowsSecurityContextOptions runAsUser:*i
  runAsGroup:*i runAsNonRoot:*b supplementalGroups:[i supplementalGroupsPolicy:*s fsGroup=FSGroup:*i sysctls:[Sysctl
  fsGroupChangePolicy=FSGroupChangePolicy:*s seccompProfile:*SeccompProfile appArmorProfile:*AppArmorProfile
  seLinuxChangePolicy=SELinuxChangePolicy:*s
PodSpec volumes:[Volume@name~ initContainers:[Container@name containers:[Container!@name
  ephemeralContainers:[EphemeralContainer@name restartPolicy:s terminationGracePeriodSeconds:*i activeDeadlineSeconds:*i
  dnsPolicy=DNSPolicy:s nodeSelector:{s serviceAccountName:s serviceAccount=DeprecatedServiceAccount:s
  automountServiceAccountToken:*b nodeName:s hostNetwork:b hostPID:b hostIPC:b shareProcessNamespace:*b
  securityContext:*PodSecurityContext imagePullSecrets:[LocalObjectReference@name hostname:s subdomain:s affinity:*Affinity
  schedulerName:s tolerations:[Toleration hostAliases:[HostAlias@ip priorityClassName:s priority:*i
  dnsConfig=DNSConfig:*PodDNSConfig readinessGates:[PodReadinessGate runtimeClassName:*s enableServiceLinks:*b
  preemptionPolicy:*s overhead:{q topologySpreadConstraints:[TopologySpreadConstraint@topologyKey setHostnameAsFQDN:*b
  os=OS:*PodOS hostUsers:*b schedulingGates:[PodSchedulingGate@name resourceClaims:[PodResourceClaim@name~
  resources:*ResourceRequirements hostnameOverride:*s schedulingGroup:*PodSchedulingGroup
PodStatus
PodTemplateSpec metadata=ObjectMeta:ObjectMeta spec:PodSpec
PortworxVolumeSource volumeID:s! fsType=FSType:s readOnly:b
PreferredSchedulingTerm weight:i! preference:NodeSelectorTerm!
Probe exec:*ExecAction httpGet=HTTPGet:*HTTPGetAction tcpSocket=TCPSocket:*TCPSocketAction grpc=GRPC:*GRPCAction
  initialDelaySeconds:i timeoutSeconds:i periodSeconds:i successThreshold:i failureThreshold:i terminationGracePeriodSeconds:*i
ProjectedVolumeSource sources:[VolumeProjection! defaultMode:*i
QuobyteVolumeSource registry:s! volume:s! readOnly:b user:s group:s tenant:s
RBDVolumeSource monitors=CephMonitors:[s! image=RBDImage:s! fsType=FSType:s pool=RBDPool:s user=RadosUser:s keyring:s
  secretRef:*LocalObjectReference readOnly:b
ReplicaSet kind:s apiVersion=APIVersion:s metadata=ObjectMeta:ObjectMeta spec:ReplicaSetSpec status:ReplicaSetStatus
ReplicaSetCondition type:s! status:s! lastTransitionTime:t reason:s message:s
ReplicaSetSpec replicas:*i minReadySeconds:i selector:*LabelSelector! template:PodTemplateSpec
ReplicaSetStatus replicas:i! fullyLabeledReplicas:i readyReplicas:i availableReplicas:i terminatingReplicas:*i
  observedGeneration:i conditions:[ReplicaSetCondition@type
ReplicationController kind:s apiVersion=APIVersion:s metadata=ObjectMeta:ObjectMeta spec:ReplicationControllerSpec
  status:ReplicationControllerStatus
ReplicationControllerCondition type:s! status:s! lastTransitionTime:t reason:s message:s
ReplicationControllerSpec replicas:*i minReadySeconds:i selector:{s template:*PodTemplateSpec
ReplicationControllerStatus replicas:i! fullyLabeledReplicas:i readyReplicas:i availableReplicas:i observedGeneration:i
  conditions:[ReplicationControllerCondition@type
ResourceClaim name:s! request:s
ResourceFieldSelector containerName:s resource:s! divisor:q
ResourceRequirements limits:{q requests:{q claims:[ResourceClaim
RollingUpdateDaemonSet maxUnavailable:*x maxSurge:*x
RollingUpdateDeployment maxUnavailable:*x maxSurge:*x
RollingUpdateStatefulSetStrategy partition:*i maxUnavailable:*x
SELinuxOptions user:s role:s type:s level:s
ScaleIOVolumeSource gateway:s! system:s! secretRef:*LocalObjectReference! sslEnabled=SSLEnabled:b protectionDomain:s
  storagePool:s storageMode:s volumeName:s fsType=FSType:s readOnly:b
SeccompProfile type:s! localhostProfile:*s
SecretEnvSource name:s optional:*b
SecretKeySelector name:s key:s! optional:*b
SecretProjection name:s items:[KeyToPath optional:*b
SecretVolumeSource secretName:s items:[KeyToPath defaultMode:*i optional:*b
SecurityContext capabilities:*Capabilities privileged:*b seLinuxOptions=SELinuxOptions:*SELinuxOptions
  windowsOptions:*WindowsSecurityContextOptions runAsUser:*i runAsGroup:*i runAsNonRoot:*b readOnlyRootFilesystem:*b
  allowPrivilegeEscalation:*b procMount:*s seccompProfile:*SeccompProfile appArmorProfile:*AppArmorProfile
ServiceAccountTokenProjection audience:s expirationSeconds:*i path:s!
SleepAction seconds:i!
StatefulSet kind:s apiVersion=APIVersion:s metadata=ObjectMeta:ObjectMeta spec:StatefulSetSpec status:StatefulSetStatus
StatefulSetCondition type:s! status:s! lastTransitionTime:t reason:s message:s
StatefulSetOrdinals start:i!
StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted:s whenScaled:s
StatefulSetSpec replicas:*i selector:*LabelSelector! template:PodTemplateSpec! volumeClaimTemplates:[PersistentVolumeClaim
  serviceName:s! podManagementPolicy:s updateStrategy:StatefulSetUpdateStrategy revisionHistoryLimit:*i minReadySeconds:i
  persistentVolumeClaimRetentionPolicy:*StatefulSetPersistentVolumeClaimRetentionPolicy ordinals:*StatefulSetOrdinals
StatefulSetStatus observedGeneration:i replicas:i! readyReplicas:i currentReplicas:i updatedReplicas:i currentRevision:s
  updateRevision:s collisionCount:*i conditions:[StatefulSetCondition@type availableReplicas:i!
StatefulSetUpdateStrategy type:s rollingUpdate:*RollingUpdateStatefulSetStrategy
StorageOSVolumeSource volumeName:s volumeNamespace:s fsType=FSType:s readOnly:b secretRef:*LocalObjectReference
SuccessPolicy rules:[SuccessPolicyRule!
SuccessPolicyRule succeededIndexes:*s succeededCount:*i
Sysctl name:s! value:s!
TCPSocketAction port:x! host:s
Toleration key:s operator:s value:s effect:s tolerationSeconds:*i
TopologySpreadConstraint maxSkew:i! topologyKey:s! whenUnsatisfiable:s! labelSelector:*LabelSelector minDomains:*i
  nodeAffinityPolicy:*s nodeTaintsPolicy:*s matchLabelKeys:[s
TypedLocalObjectReference apiGroup=APIGroup:*s! kind:s! name:s!
TypedObjectReference apiGroup=APIGroup:*s! kind:s! name:s! namespace:*s
UncountedTerminatedPods succeeded:[s failed:[s
Volume name:s! hostPath:*HostPathVolumeSource emptyDir:*EmptyDirVolumeSource
  gcePersistentDisk=GCEPersistentDisk:*GCEPersistentDiskVolumeSource
  awsElasticBlockStore=AWSElasticBlockStore:*AWSElasticBlockStoreVolumeSource gitRepo:*GitRepoVolumeSource
  secret:*SecretVolumeSource nfs=NFS:*NFSVolumeSource iscsi=ISCSI:*ISCSIVolumeSource glusterfs:*GlusterfsVolumeSource
  persistentVolumeClaim:*PersistentVolumeClaimVolumeSource rbd=RBD:*RBDVolumeSource flexVolume:*FlexVolumeSource
  cinder:*CinderVolumeSource cephfs=CephFS:*CephFSVolumeSource flocker:*FlockerVolumeSource downwardAPI:*DownwardAPIVolumeSource
  fc=FC:*FCVolumeSource azureFile:*AzureFileVolumeSource configMap:*ConfigMapVolumeSource
  vsphereVolume:*VsphereVirtualDiskVolumeSource quobyte:*QuobyteVolumeSource azureDisk:*AzureDiskVolumeSource
  photonPersistentDisk:*PhotonPersistentDiskVolumeSource projected:*ProjectedVolumeSource portworxVolume:*PortworxVolumeSource
  scaleIO:*ScaleIOVolumeSource storageos=StorageOS:*StorageOSVolumeSource csi=CSI:*CSIVolumeSource
  ephemeral:*EphemeralVolumeSource image:*ImageVolumeSource
VolumeDevice name:s! devicePath:s!
VolumeMount name:s! readOnly:b recursiveReadOnly:*s mountPath:s! subPath:s mountPropagation:*s subPathExpr:s
VolumeProjection secret:*SecretProjection downwardAPI:*DownwardAPIProjection configMap:*ConfigMapProjection
  serviceAccountToken:*ServiceAccountTokenProjection clusterTrustBundle:*ClusterTrustBundleProjection
  podCertificate:*PodCertificateProjection
VolumeResourceRequirements limits:{q requests:{q
VsphereVirtualDiskVolumeSource volumePath:s! fsType=FSType:s storagePolicyName:s storagePolicyID:s
WeightedPodAffinityTerm weight:i! podAffinityTerm:PodAffinityTerm!
WindowsSecurityContextOptions gmsaCredentialSpecName=GMSACredentialSpecName:*s gmsaCredentialSpec=GMSACredentialSpec:*s
  runAsUserName:*s hostProcess:*b
`;
