//! Digests of single fields, and which of them differ. Names are bounded and made safe to show; values are never kept.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::{FIELD_NAME_BYTES_MAX, FIELDS_MAX, FIELDS_NAMED_MAX, FieldDigest, add};

/// The name of all fields beyond those that are kept.
const FURTHER: &str = "further fields";

/// What differs when no field that is kept does.
const BODY: &str = "body";

/// The digests of fields in the making.
pub(super) struct Fields {
    salt: [u8; 32],
    kept: BTreeMap<String, [u8; 8]>,
    further: Option<Sha256>,
}

impl Fields {
    pub(super) fn new(salt: [u8; 32]) -> Self {
        Self {
            salt,
            kept: BTreeMap::new(),
            further: None,
        }
    }

    /// Adds a field. One whose name is taken is added to the one that has it.
    pub(super) fn add(&mut self, name: &str, value: &[u8]) {
        let shown = shown(name);
        if self.kept.len() >= FIELDS_MAX - 1 && !self.kept.contains_key(&shown) {
            let further = self.further.get_or_insert_with(Sha256::new);
            add(further, name.as_bytes());
            add(further, value);
            return;
        }
        let mut digest = Sha256::new();
        add(&mut digest, &self.salt);
        if let Some(before) = self.kept.get(&shown) {
            add(&mut digest, before);
        }
        add(&mut digest, name.as_bytes());
        add(&mut digest, value);
        self.kept.insert(shown, head(digest));
    }

    pub(super) fn finish(mut self) -> Vec<FieldDigest> {
        if let Some(mut further) = self.further {
            add(&mut further, &self.salt);
            self.kept.insert(FURTHER.to_owned(), head(further));
        }
        self.kept
            .into_iter()
            .map(|(name, digest)| FieldDigest { name, digest })
            .collect()
    }
}

fn head(digest: Sha256) -> [u8; 8] {
    let mut head = [0; 8];
    head.copy_from_slice(&digest.finalize()[..8]);
    head
}

/// The name as it may be shown: no control characters, bounded.
fn shown(name: &str) -> String {
    let mut shown = String::new();
    for character in name.chars() {
        let character = match character {
            _ if character.is_control() => char::REPLACEMENT_CHARACTER,
            _ => character,
        };
        if shown.len() + character.len_utf8() > FIELD_NAME_BYTES_MAX {
            break;
        }
        shown.push(character);
    }
    shown
}

/// The names that differ between two lists of one request that is not the same.
pub(super) fn differing(ours: &[FieldDigest], theirs: &[FieldDigest]) -> Vec<String> {
    let by_name = |fields: &[FieldDigest]| -> BTreeMap<String, [u8; 8]> {
        fields
            .iter()
            .map(|field| (field.name.clone(), field.digest))
            .collect()
    };
    let (ours, theirs) = (by_name(ours), by_name(theirs));
    // Where one side kept only a part, a name that it lacks may stand among its further fields.
    let partial = ours.contains_key(FURTHER) || theirs.contains_key(FURTHER);
    let differs = |name: &&String| match (ours.get(*name), theirs.get(*name)) {
        (Some(ours), Some(theirs)) => ours != theirs,
        (None, _) | (_, None) => !partial || name.as_str() == FURTHER,
    };
    let mut names: Vec<String> = ours
        .keys()
        .chain(theirs.keys().filter(|name| !ours.contains_key(*name)))
        .filter(differs)
        .cloned()
        .collect();
    names.sort();
    names.truncate(FIELDS_NAMED_MAX);
    if names.is_empty() {
        names.push(if partial { FURTHER } else { BODY }.to_owned());
    }
    names
}
