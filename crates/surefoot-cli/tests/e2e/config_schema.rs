//! The schema of the configuration as it is printed, and the configurations of all these tests beside it.

use std::path::Path;
use std::sync::LazyLock;

use boon::{Compiler, SchemaIndex, Schemas};

use crate::process::Folder;

const PUBLISHED: &str = include_str!("../../../../docs/configuration.schema.json");

static VALIDATOR: LazyLock<(Schemas, SchemaIndex)> = LazyLock::new(|| {
    let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
    let schema = serde_json::from_str(PUBLISHED).unwrap();
    compiler.add_resource("urn:surefoot.toml", schema).unwrap();
    let index = compiler.compile("urn:surefoot.toml", &mut schemas).unwrap();
    (schemas, index)
});

/// A node that started with this folder's configuration: it loads, so it must be valid.
#[track_caller]
pub(crate) fn valid(folder: &Path) {
    let Ok(text) = std::fs::read_to_string(folder.join("surefoot.toml")) else {
        return;
    };
    let table: toml::Table = text.parse().unwrap();
    let document = serde_json::to_value(table).unwrap();
    let (schemas, index) = &*VALIDATOR;
    if let Err(refusal) = schemas.validate(&document, *index) {
        panic!("it loads and is not valid: {refusal:#}\n{text}");
    }
}

#[test]
fn the_schema_is_printed_as_it_is_published() {
    let folder = Folder::new();
    folder.config("this is no configuration, and nobody reads it");
    let run = folder.run(&["config", "schema"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(run.stdout, PUBLISHED);
}

#[test]
fn a_fault_names_its_key_for_machines() {
    let folder = Folder::new();
    folder.config("[server]\ntokens = { ops = \"${NOBODY_SET_THIS}\" }\n[server]\n");
    let faults = |folder: &Folder| {
        let run = folder.run(&["check", "--json"]);
        assert_eq!(run.code, Some(3), "{run:?}");
        let told: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
        told["error"]["faults"][0].clone()
    };
    assert_eq!(
        faults(&folder)["what"],
        "server stands here for the second time"
    );
    folder.config("[server]\ntokens = { ops = \"${NOBODY_SET_THIS}\" }\n");
    let fault = faults(&folder);
    assert_eq!(fault["key"], "server.tokens.ops");
    assert_eq!(
        fault["what"],
        "server.tokens.ops: the environment variable NOBODY_SET_THIS is not set"
    );
}
