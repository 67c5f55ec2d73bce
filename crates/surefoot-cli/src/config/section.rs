//! Reads the fields of one table of the file. It notes what is missing, of the wrong type or unknown, and hands out
//! checked values only; what values mean together is not its business. It reads no key that is not declared in `keys`.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::{Faults, Span};
pub(super) use super::field::{Entry, Field};
use super::keys::{self, Table};
use super::value::{as_number, duration_above_zero, in_words};

/// The most entries of one list.
pub(super) const LIST_MAX: usize = 1000;
/// The most HTTP statuses of one list.
pub(super) const STATUSES_MAX: usize = 50;
/// The lowest and the highest of them.
pub(super) const STATUS_MIN: u16 = 100;
pub(super) const STATUS_MAX: u16 = 599;
/// The farthest that a key may be from a known one to be taken for a slip of the finger.
const SLIP_MAX: usize = 3;

/// One table of the file.
pub(super) struct Section<'t> {
    /// Its name, such as `job.send_mail`; empty for the whole file.
    pub(super) name: String,
    /// Where its name stands.
    pub(super) header: Span,
    /// Where faults go.
    pub(super) faults: &'t Faults,
    table: &'t DeTable<'t>,
    /// What is declared of it; of a table with alternatives each, of one with free keys nothing.
    pub(super) declared: Vec<&'static Table>,
    known: RefCell<Vec<&'static str>>,
}

impl<'t> Section<'t> {
    /// The whole file.
    pub(super) fn file(table: &'t DeTable<'t>, faults: &'t Faults) -> Self {
        Self {
            name: String::new(),
            header: 0..0,
            faults,
            table,
            declared: vec![keys::file()],
            known: RefCell::default(),
        }
    }

    /// A text.
    pub(super) fn text(&self, key: &'static str) -> Field<&'t str> {
        self.read(key, "a text in quotes", DeValue::as_str)
    }

    /// A duration such as `"42m30s"`, above zero.
    pub(super) fn duration(&self, key: &'static str) -> Field<Duration> {
        self.read(
            key,
            "a duration in quotes, such as \"10s\"",
            DeValue::as_str,
        )
        .check(self.faults, |text| duration_above_zero(key, text))
    }

    /// A whole number in `range`.
    pub(super) fn count(&self, key: &'static str, range: RangeInclusive<u32>) -> Field<u32> {
        self.read(key, "a whole number", |value| {
            value.as_integer().map(ToString::to_string)
        })
        .check(self.faults, |digits| match digits.parse() {
            Ok(number) if range.contains(&number) => Ok(number),
            Ok(_) | Err(_) => Err(format!(
                "{key} is {digits}; give a whole number from {} to {}",
                range.start(),
                range.end()
            )),
        })
    }

    /// A number, whole or not.
    pub(super) fn number(&self, key: &'static str) -> Field<f64> {
        self.read(key, "a number", as_number)
    }

    /// A list of texts, each with its place.
    pub(super) fn texts(&self, key: &'static str) -> Field<Vec<(&'t str, Span)>> {
        let list = |value: &'t DeValue<'t>| {
            let items = value.as_array()?.iter();
            items
                .map(|item| Some((item.get_ref().as_str()?, item.span())))
                .collect::<Option<Vec<_>>>()
        };
        self.read(
            key,
            "a list of texts in quotes, such as [\"a\", \"b\"]",
            list,
        )
        .check(self.faults, |list| {
            if list.len() > LIST_MAX {
                return Err(format!(
                    "{key} has {} entries; give at most {LIST_MAX}",
                    list.len()
                ));
            }
            Ok(list)
        })
    }

    /// A list of HTTP statuses, with one at least.
    pub(super) fn statuses(&self, key: &'static str) -> Field<Vec<u16>> {
        let list = |value: &'t DeValue<'t>| {
            let digits = |item: &'t Spanned<DeValue<'t>>| {
                item.get_ref().as_integer().map(ToString::to_string)
            };
            value
                .as_array()?
                .iter()
                .map(digits)
                .collect::<Option<Vec<_>>>()
        };
        self.read(key, "a list of HTTP statuses, such as [200]", list)
            .check(self.faults, |list| {
                if list.is_empty() || list.len() > STATUSES_MAX {
                    return Err(format!(
                        "{key} has {} entries; give 1 to {STATUSES_MAX} statuses",
                        list.len()
                    ));
                }
                let status = |digits: &String| match digits.parse() {
                    Ok(status) if (STATUS_MIN..=STATUS_MAX).contains(&status) => Ok(status),
                    Ok(_) | Err(_) => Err(format!(
                        "{key} has {digits}; give statuses from {STATUS_MIN} to {STATUS_MAX}"
                    )),
                };
                list.iter().map(status).collect()
            })
    }

    /// A list of durations above zero, with one at least.
    pub(super) fn durations(&self, key: &'static str) -> Field<Vec<Duration>> {
        self.texts(key).check(self.faults, |list| {
            if list.is_empty() {
                return Err(format!(
                    "{key} is empty; give for example [\"10s\", \"1m\"]"
                ));
            }
            list.iter()
                .map(|(text, _)| duration_above_zero(key, text))
                .collect()
        })
    }

    /// A text or a number, as it stands.
    pub(super) fn value(&self, key: &'static str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.know(key);
        self.table.get(key)
    }

    /// The entries with these keys, as they stand, for something that reads its own text form.
    pub(super) fn part(&self, keys: &[&'static str]) -> DeTable<'t> {
        keys.iter()
            .filter_map(|key| {
                self.know(key);
                let (name, value) = self.table.get_key_value(*key)?;
                Some((name.clone(), value.clone()))
            })
            .collect()
    }

    /// A table within this one.
    pub(super) fn section(&self, key: &'static str) -> Option<Section<'t>> {
        self.know(key);
        let (name, value) = self.table.get_key_value(key)?;
        self.open(self.path(key), self.declared_at(key), name.span(), value)
    }

    /// Every table of the list `key`, each with the place where it begins; the outer `None` when something else stands
    /// there.
    pub(super) fn tables(&self, key: &'static str) -> Option<Vec<Section<'t>>> {
        let Some(value) = self.value(key) else {
            return Some(Vec::new());
        };
        let Some(items) = value.get_ref().as_array() else {
            self.wrong_type(
                key,
                value,
                &format!("a list of tables, such as [[{}]]", self.path(key)),
            );
            return None;
        };
        let declared = self.declared_at(key);
        let open = |item: &'t Spanned<DeValue<'t>>| {
            self.open(self.path(key), declared.clone(), item.span(), item)
        };
        items.iter().map(open).collect()
    }

    /// Every table within the table `key`, with its own name and where that stands.
    pub(super) fn sections(&self, key: &'static str) -> Vec<(&'t str, Section<'t>)> {
        let Some(outer) = self.section(key) else {
            return Vec::new();
        };
        let open = |(name, value): (&'t Spanned<_>, &'t Spanned<DeValue<'t>>)| {
            let own: &'t str = AsRef::<str>::as_ref(name.get_ref());
            let declared = outer.declared.clone();
            let opened = outer.open(outer.path(own), declared, name.span(), value);
            Some((own, opened?))
        };
        outer.table.iter().filter_map(open).collect()
    }

    /// Every entry of this table that is a text, for tables whose keys are free, and whether all are.
    pub(super) fn entries(&self) -> (Vec<Entry<'t>>, bool) {
        self.entries_of("a text in quotes", |value| vec![value])
    }

    /// As [`Section::entries`], where an entry may be a list of texts besides: each of them has the key.
    pub(super) fn entry_lists(&self) -> (Vec<Entry<'t>>, bool) {
        self.entries_of("a text in quotes, or a list of them", |value| {
            match value.get_ref().as_array() {
                Some(items) => items.iter().collect(),
                None => vec![value],
            }
        })
    }

    fn entries_of(
        &self,
        expected: &str,
        texts: impl Fn(&'t Spanned<DeValue<'t>>) -> Vec<&'t Spanned<DeValue<'t>>>,
    ) -> (Vec<Entry<'t>>, bool) {
        let (mut entries, mut all) = (Vec::new(), true);
        for (name, value) in self.table.iter() {
            let own: &'t str = AsRef::<str>::as_ref(name.get_ref());
            for item in texts(value) {
                let Some(text) = item.get_ref().as_str() else {
                    self.wrong_type(own, item, expected);
                    all = false;
                    continue;
                };
                entries.push(Entry {
                    name: own,
                    name_span: name.span(),
                    text,
                    text_span: item.span(),
                });
            }
        }
        (entries, all)
    }

    /// Notes that `key` must be there and is not.
    pub(super) fn missing(&self, key: &str, remedy: impl Into<String>) {
        let what = format!("[{}] has no {key}", self.name);
        self.faults.note(self.header.clone(), what, remedy);
    }

    /// Notes every key that nobody asked for. To be called when all fields are read.
    pub(super) fn finish(&self) {
        let known = self.known.borrow();
        for key in self.table.keys() {
            let text: &str = key.get_ref();
            if known.contains(&text) {
                continue;
            }
            let place = if self.name.is_empty() {
                String::new()
            } else {
                format!(" in [{}]", self.name)
            };
            let remedy = match nearest(text, &known) {
                Some(name) => format!("did you mean {name:?}?"),
                None => format!("remove it; known here: {}", known.join(", ")),
            };
            self.faults
                .note(key.span(), format!("unknown key {text:?}{place}"), remedy);
        }
    }

    fn know(&self, key: &'static str) {
        assert!(
            self.declared.iter().any(|table| table.has(key)),
            "the key {key} of [{}] is read and not declared in config/keys",
            self.name
        );
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
    }

    /// What is declared of the tables at `key`.
    fn declared_at(&self, key: &str) -> Vec<&'static Table> {
        let keys = self.declared.iter().flat_map(|table| &table.keys);
        keys.filter(|declared| declared.name == key)
            .flat_map(|declared| declared.shape.tables())
            .collect()
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.name)
        }
    }

    fn open(
        &self,
        name: String,
        declared: Vec<&'static Table>,
        header: Span,
        value: &'t Spanned<DeValue<'t>>,
    ) -> Option<Section<'t>> {
        match value.get_ref().as_table() {
            Some(table) => Some(Section {
                name,
                header,
                faults: self.faults,
                table,
                declared,
                known: RefCell::default(),
            }),
            None => {
                self.wrong_type(&name, value, "a table");
                None
            }
        }
    }

    fn read<T>(
        &self,
        key: &'static str,
        expected: &str,
        read: impl FnOnce(&'t DeValue<'t>) -> Option<T>,
    ) -> Field<T> {
        let Some(value) = self.value(key) else {
            return Field::Absent;
        };
        match read(value.get_ref()) {
            Some(read) => Field::Given(read, value.span()),
            None => {
                self.wrong_type(key, value, expected);
                Field::Faulty
            }
        }
    }

    /// Notes that something else stands at `key` than is expected.
    pub(super) fn wrong_type(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) {
        let what = format!("{key} is {}", in_words(value.get_ref(), expected));
        self.faults
            .note(value.span(), what, format!("give {expected}"));
    }
}

/// The known key that `text` is most likely meant to be.
pub(super) fn nearest<'k>(text: &str, known: &[&'k str]) -> Option<&'k str> {
    let distance = |name: &str| strsim::osa_distance(text, name);
    let near = known.iter().min_by_key(|name| distance(name))?;
    (distance(near) <= SLIP_MAX.min(near.len().div_ceil(2))).then_some(*near)
}
