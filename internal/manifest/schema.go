package manifest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/config/crd"
)

// kindSchema is what the API server knows of one kind.
type kindSchema struct {
	structural *structuralschema.Structural
	openAPI    validation.SchemaValidator
	rules      *cel.Validator
}

// schemas are read from the embedded CRDs once; a kind of v1alpha1 each.
var schemas = sync.OnceValues(func() (map[string]*kindSchema, error) {
	files, err := fs.Glob(crd.FS, "bases/*.yaml")
	if err != nil {
		return nil, err
	}
	byKind := map[string]*kindSchema{}
	for _, file := range files {
		data, err := fs.ReadFile(crd.FS, file)
		if err != nil {
			return nil, err
		}
		kind, schema, err := readCRD(data)
		if err != nil {
			return nil, fmt.Errorf("embedded CRD %s: %w", file, err)
		}
		byKind[kind] = schema
	}
	return byKind, nil
})

func readCRD(data []byte) (kind string, _ *kindSchema, err error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &definition); err != nil {
		return "", nil, err
	}
	for _, version := range definition.Spec.Versions {
		if version.Name != v1alpha1.GroupVersion.Version {
			continue
		}
		var props apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &props, nil); err != nil {
			return "", nil, err
		}
		structural, err := structuralschema.NewStructural(&props)
		if err != nil {
			return "", nil, err
		}
		openAPI, _, err := validation.NewSchemaValidator(&props)
		if err != nil {
			return "", nil, err
		}
		return definition.Spec.Names.Kind, &kindSchema{
			structural: structural,
			openAPI:    openAPI,
			rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
		}, nil
	}
	return "", nil, fmt.Errorf("no version %s", v1alpha1.GroupVersion.Version)
}

func schemaOf(obj *unstructured.Unstructured) (*kindSchema, error) {
	if obj.GroupVersionKind().GroupVersion() != v1alpha1.GroupVersion {
		return nil, fmt.Errorf("no schema for %s %s", obj.GetAPIVersion(), obj.GetKind())
	}
	byKind, err := schemas()
	if err != nil {
		return nil, err
	}
	schema, ok := byKind[obj.GetKind()]
	if !ok {
		return nil, fmt.Errorf("no schema for %s %s", obj.GetAPIVersion(), obj.GetKind())
	}
	return schema, nil
}

// Default removes from an object of assay.dev/v1alpha1 what its schema does not
// know, whose paths it returns, and fills the schema's defaults in, as the API
// server does when it decodes a request.
func Default(obj *unstructured.Unstructured) (unknown []string, err error) {
	schema, err := schemaOf(obj)
	if err != nil {
		return nil, err
	}
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(obj.Object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	unknown = append(unknown, pruning.PruneWithOptions(obj.Object, schema.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj.Object, schema.structural)
	if found {
		if err := objectmeta.SetObjectMeta(obj.Object, meta); err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
	}
	defaulting.Default(obj.Object, schema.structural)
	return unknown, nil
}

// errRulesSkipped stands behind errors that keep the CEL rules from being asked.
var errRulesSkipped = errors.New("the rules between fields were not checked yet: correct the above first")

// Validate checks a defaulted object of assay.dev/v1alpha1 as the API server
// does when it is created: by the OpenAPI schema, the list types and, where
// those left nothing that would disturb them, the CEL rules.
func Validate(ctx context.Context, obj *unstructured.Unstructured) field.ErrorList {
	schema, err := schemaOf(obj)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	errs := validation.ValidateCustomResource(nil, obj.Object, schema.openAPI)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, schema.structural, obj.Object)...)
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return append(errs, field.Invalid(nil, nil, errRulesSkipped.Error()))
		}
	}
	ruled, _ := schema.rules.Validate(ctx, nil, schema.structural, obj.Object, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, ruled...)
}
