//! What a table of the file says about one of its fields. It holds what was read; it reads nothing.

use std::fmt::Display;

use super::fault::{Faults, Span};

/// What a table says about one field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Field<T> {
    /// Nothing.
    Absent,
    /// Something wrong, which was noted.
    Faulty,
    /// This value, at this place.
    Given(T, Span),
}

impl<T> Field<T> {
    /// The value, or `default` when none is given; `None` when what is given is wrong.
    pub(super) fn or(self, default: T) -> Option<T> {
        match self {
            Self::Absent => Some(default),
            Self::Faulty => None,
            Self::Given(value, _) => Some(value),
        }
    }

    /// The value, if one is given; the outer `None` when what is given is wrong.
    pub(super) fn optional(self) -> Option<Option<T>> {
        match self {
            Self::Absent => Some(None),
            Self::Faulty => None,
            Self::Given(value, _) => Some(Some(value)),
        }
    }

    /// The same field with what `change` makes of its value; a refusal is noted at its place.
    pub(super) fn check<U, E: Display>(
        self,
        faults: &Faults,
        change: impl FnOnce(T) -> Result<U, E>,
    ) -> Field<U> {
        match self {
            Self::Absent => Field::Absent,
            Self::Faulty => Field::Faulty,
            Self::Given(value, span) => match change(value) {
                Ok(value) => Field::Given(value, span),
                Err(refusal) => {
                    faults.note_text(span, &refusal.to_string());
                    Field::Faulty
                }
            },
        }
    }

    /// Where it stands, if it stands anywhere.
    pub(super) fn span(&self) -> Option<Span> {
        match self {
            Self::Absent | Self::Faulty => None,
            Self::Given(_, span) => Some(span.clone()),
        }
    }
}

/// One entry of a table whose keys are free.
pub(super) struct Entry<'t> {
    /// Its key.
    pub(super) name: &'t str,
    /// Where the key stands.
    pub(super) name_span: Span,
    /// Its value.
    pub(super) text: &'t str,
    /// Where the value stands.
    pub(super) text_span: Span,
}
