package v1alpha1

// TargetKind is a kind of workload whose rollouts start runs.
//
// +kubebuilder:validation:Enum=Deployment;StatefulSet;DaemonSet;Rollout
type TargetKind string

const (
	// TargetDeployment is a Deployment of apps/v1.
	TargetDeployment TargetKind = "Deployment"
	// TargetStatefulSet is a StatefulSet of apps/v1.
	TargetStatefulSet TargetKind = "StatefulSet"
	// TargetDaemonSet is a DaemonSet of apps/v1.
	TargetDaemonSet TargetKind = "DaemonSet"
	// TargetRollout is a Rollout of argoproj.io/v1alpha1.
	TargetRollout TargetKind = "Rollout"
)

// OnDeploy starts a run when a workload has rolled out a new revision.
type OnDeploy struct {
	// targets are the workloads behind the retriever and the answer service, in the suite's namespace. Their pod templates, and the ConfigMaps that these name, make up the revision that a verdict holds for.
	// +required
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Targets []Target `json:"targets,omitempty"`

	// settleSeconds is how long after a rollout the run waits, in seconds, for caches to fill and connections to move; 15 by default.
	// +optional
	// +default=15
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	SettleSeconds *int32 `json:"settleSeconds,omitempty"`
}

// Target names a workload of the suite's namespace.
//
// +kubebuilder:validation:XValidation:rule="(self.kind == 'Rollout') == (self.apiVersion == 'argoproj.io/v1alpha1')",message="apiVersion must be apps/v1 for a Deployment, a StatefulSet or a DaemonSet, and argoproj.io/v1alpha1 for a Rollout"
type Target struct {
	// apiVersion is apps/v1 (the default), or argoproj.io/v1alpha1 for a Rollout.
	// +optional
	// +default="apps/v1"
	// +kubebuilder:validation:Enum=apps/v1;argoproj.io/v1alpha1
	APIVersion string `json:"apiVersion,omitempty"`

	// kind is Deployment, StatefulSet, DaemonSet or Rollout.
	// +required
	Kind TargetKind `json:"kind,omitempty"`

	// name of the workload.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// TargetStatus is a workload as it was seen last.
type TargetStatus struct {
	// kind of the workload.
	// +required
	Kind TargetKind `json:"kind,omitempty"`

	// name of the workload.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// templateHash identifies the pod template that was asked for last, for example a pod-template-hash.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TemplateHash string `json:"templateHash,omitempty"`

	// images as the pod template has them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	Images []string `json:"images,omitempty"`

	// imageIDs are the digests of the images that its ready pods run.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	ImageIDs []string `json:"imageIDs,omitempty"`

	// rolledOut is true when every pod is of this template and ready.
	// +optional
	RolledOut *bool `json:"rolledOut,omitempty"`

	// message says what the rollout waits for; absent when it has finished.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// BaselinePolicy says which run others are compared with.
//
// +kubebuilder:validation:Enum=LastPassed;Pinned;None
type BaselinePolicy string

const (
	// BaselineLastPassed is the newest full run that passed.
	BaselineLastPassed BaselinePolicy = "LastPassed"
	// BaselinePinned is the run that baseline.runName names.
	BaselinePinned BaselinePolicy = "Pinned"
	// BaselineNone compares with nothing.
	BaselineNone BaselinePolicy = "None"
)

// NotComparablePolicy says what a maxDrop means without a baseline to compare with.
//
// +kubebuilder:validation:Enum=Ignore;Inconclusive
type NotComparablePolicy string

const (
	// NotComparableIgnore lets such a bound pass.
	NotComparableIgnore NotComparablePolicy = "Ignore"
	// NotComparableInconclusive leaves it open.
	NotComparableInconclusive NotComparablePolicy = "Inconclusive"
)

// Baseline says which run others are compared with, and how.
//
// +kubebuilder:validation:MinProperties=1
type Baseline struct {
	// policy is LastPassed (the default: the newest full run that passed), Pinned (runName) or None.
	// +optional
	// +default="LastPassed"
	Policy BaselinePolicy `json:"policy,omitempty"`

	// runName is the run that is compared with, for policy Pinned.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=253
	RunName string `json:"runName,omitempty"`

	// reference is a run that drift is reported against, beside the baseline: LastPassed lets quality bleed away a little each time. It decides nothing.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=253
	Reference string `json:"reference,omitempty"`

	// minConfidence is the confidence that a drop beyond maxDrop must be shown with to count, as a decimal string, for example "0.95". A drop that is less sure is Unproven: reported, no failure. Left out: the measured drop counts.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="self.matches('^0\\\\.[0-9]*[1-9][0-9]*$')",message="minConfidence must be a decimal string above 0 and below 1, for example \"0.95\""
	MinConfidence string `json:"minConfidence,omitempty"`

	// onNotComparable says what a maxDrop means where there is no baseline, or too little in common with it: Ignore (the default) lets it pass, Inconclusive leaves the run open. A baseline that was known and is lost leaves it open either way.
	// +optional
	// +default="Ignore"
	OnNotComparable NotComparablePolicy `json:"onNotComparable,omitempty"`
}

// BaselineStatus is the run that the next one is compared with.
//
// +kubebuilder:validation:MinProperties=0
type BaselineStatus struct {
	// runName of the EvalRun.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	RunName string `json:"runName,omitempty"`

	// goldenSetDigest of the golden set that it asked.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	GoldenSetDigest string `json:"goldenSetDigest,omitempty"`

	// revision that it measured.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`
}
