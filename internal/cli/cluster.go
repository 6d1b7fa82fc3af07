package cli

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/internal/operator"
)

// clusterOptions say which cluster and namespace a command speaks to, as
// kubectl's flags do.
type clusterOptions struct {
	kubeconfig, context, namespace string
}

func (o *clusterOptions) addFlags(f *pflag.FlagSet) {
	f.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the suite; that of the kubeconfig's context by default")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig; its current one by default")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file; $KUBECONFIG or ~/.kube/config by default, and inside a pod its service account")
}

// config says how the cluster is reached, and gives the namespace.
func (o *clusterOptions) config() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.context}
	overrides.Context.Namespace = o.namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	cfg, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("find the cluster: %w; set KUBECONFIG or give --kubeconfig", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("find the namespace: %w", err)
	}
	return quiet(cfg), namespace, nil
}

// connect gives a client for the cluster, which caches nothing, and the namespace.
func (o *clusterOptions) connect() (client.Client, string, error) {
	cfg, namespace, err := o.config()
	if err != nil {
		return nil, "", err
	}
	c, err := client.New(cfg, client.Options{Scheme: operator.Scheme()})
	if err != nil {
		return nil, "", fmt.Errorf("reach the cluster: %w", err)
	}
	return c, namespace, nil
}

// quiet keeps the API server's warnings from the output: they are for whoever
// writes manifests.
func quiet(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.WarningHandler = rest.NoWarnings{}
	return cfg
}
