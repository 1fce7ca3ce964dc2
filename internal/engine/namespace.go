package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/searchattribute/sadefs"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

// ensureNamespace makes the namespace, or gives the one that is there the
// configured retention and the search attributes it lacks. It works on the file
// before the server runs: over the API the change would take seconds to reach
// every cache.
func ensureNamespace(ctx context.Context, db stores, o Options) (err error) {
	conn, err := db.openMain()
	if err != nil {
		return fmt.Errorf("open the engine's files: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()

	rows, err := conn.SelectFromNamespace(ctx, sqlplugin.NamespaceFilter{Name: &o.Namespace})
	if errors.Is(err, sql.ErrNoRows) || (err == nil && len(rows) == 0) {
		return createNamespace(db, o)
	}
	if err != nil {
		return fmt.Errorf("read namespace %s: %w", o.Namespace, err)
	}
	return updateNamespace(ctx, conn, rows[0], o)
}

func createNamespace(db stores, o Options) error {
	ns, err := sqliteschema.NewNamespaceConfig(clusterName, o.Namespace, false, nil)
	if err != nil {
		return fmt.Errorf("make namespace %s: %w", o.Namespace, err)
	}
	if _, err := configure(ns.Detail.GetConfig(), o); err != nil {
		return fmt.Errorf("make namespace %s: %w", o.Namespace, err)
	}
	if err := sqliteschema.CreateNamespaces(db.main, ns); err != nil {
		return fmt.Errorf("make namespace %s: %w", o.Namespace, err)
	}
	return nil
}

func updateNamespace(ctx context.Context, conn sqlplugin.DB, row sqlplugin.NamespaceRow, o Options) error {
	codec := serialization.NewSerializer()
	detail, err := codec.NamespaceDetailFromBlob(persistence.NewDataBlob(row.Data, row.DataEncoding))
	if err != nil {
		return fmt.Errorf("read namespace %s: %w", o.Namespace, err)
	}
	if detail.GetConfig() == nil {
		detail.Config = &persistencespb.NamespaceConfig{}
	}
	changed, err := configure(detail.GetConfig(), o)
	if err != nil {
		return fmt.Errorf("update namespace %s: %w", o.Namespace, err)
	}
	if !changed {
		return nil
	}
	detail.ConfigVersion++
	blob, err := codec.NamespaceDetailToBlob(detail)
	if err != nil {
		return fmt.Errorf("update namespace %s: %w", o.Namespace, err)
	}
	row.Data, row.DataEncoding = blob.GetData(), blob.GetEncodingType().String()
	if _, err := conn.UpdateNamespace(ctx, &row); err != nil {
		return fmt.Errorf("update namespace %s: %w", o.Namespace, err)
	}
	return nil
}

// configure reports whether it changed anything.
func configure(cfg *persistencespb.NamespaceConfig, o Options) (changed bool, err error) {
	if cfg.GetRetention().AsDuration() != o.retention() {
		cfg.Retention = durationpb.New(o.retention())
		changed = true
	}
	if cfg.CustomSearchAttributeAliases == nil {
		cfg.CustomSearchAttributeAliases = map[string]string{}
	}
	aliases := cfg.CustomSearchAttributeAliases
	known := map[string]bool{}
	for _, alias := range aliases {
		known[alias] = true
	}
	for _, alias := range slices.Sorted(maps.Keys(o.SearchAttributes)) {
		if known[alias] {
			continue
		}
		field, err := freeField(aliases, o.SearchAttributes[alias])
		if err != nil {
			return false, fmt.Errorf("search attribute %s: %w", alias, err)
		}
		aliases[field] = alias
		changed = true
	}
	return changed, nil
}

// freeField finds a column for a search attribute: SQLite has a fixed number of
// them for each type.
func freeField(used map[string]string, kind enumspb.IndexedValueType) (string, error) {
	columns := sadefs.GetDBIndexSearchAttributes(nil).GetCustomSearchAttributes()
	for _, field := range slices.Sorted(maps.Keys(columns)) {
		if _, taken := used[field]; !taken && columns[field] == kind {
			return field, nil
		}
	}
	return "", fmt.Errorf("there is no free column of type %s", kind)
}
