//! Decides whether a licence expression (SPDX, and the older `A/B`) is satisfied by an allow list. It must never guess:
//! what it cannot read is an error.

/// Whether `expression` can be satisfied by licences of `allowed` alone.
///
/// `A WITH E` is one licence and must stand in the list in full. AND binds closer than OR (SPDX 2.3, annex D).
pub(crate) fn is_allowed(expression: &str, allowed: &[String]) -> Result<bool, String> {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut reader = Reader {
        words: spaced.split_whitespace().collect(),
        at: 0,
        allowed,
    };
    let verdict = reader.any_of()?;
    match reader.peek() {
        None => Ok(verdict),
        Some(word) => Err(format!("unexpected `{word}`")),
    }
}

struct Reader<'a> {
    words: Vec<&'a str>,
    at: usize,
    allowed: &'a [String],
}

impl<'a> Reader<'a> {
    fn any_of(&mut self) -> Result<bool, String> {
        let mut verdict = self.all_of()?;
        while self.take("OR") {
            verdict |= self.all_of()?;
        }
        Ok(verdict)
    }

    fn all_of(&mut self) -> Result<bool, String> {
        let mut verdict = self.one()?;
        while self.take("AND") {
            verdict &= self.one()?;
        }
        Ok(verdict)
    }

    fn one(&mut self) -> Result<bool, String> {
        if self.take("(") {
            let verdict = self.any_of()?;
            return if self.take(")") {
                Ok(verdict)
            } else {
                Err("a bracket is not closed".to_owned())
            };
        }
        let licence = self.name()?;
        let full = if self.take("WITH") {
            format!("{licence} WITH {}", self.name()?)
        } else {
            licence.to_owned()
        };
        Ok(self.allowed.contains(&full))
    }

    fn name(&mut self) -> Result<&'a str, String> {
        let word = self.peek().ok_or("it ends too early")?;
        if ["OR", "AND", "WITH", "(", ")"].contains(&word) {
            return Err(format!("unexpected `{word}`"));
        }
        self.at += 1;
        Ok(word)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let allowed = [
            "MIT".to_owned(),
            "ISC".to_owned(),
            "GPL-2.0 WITH Classpath".to_owned(),
        ];
        for (expression, expected) in [
            ("MIT", Ok(true)),
            ("GPL-3.0", Ok(false)),
            ("GPL-3.0 OR MIT", Ok(true)),
            ("Apache-2.0/MIT", Ok(true)),
            ("GPL-3.0 AND MIT", Ok(false)),
            ("MIT AND ISC", Ok(true)),
            ("GPL-3.0 AND ISC OR MIT", Ok(true)),
            ("MIT AND (GPL-3.0 OR Apache-2.0)", Ok(false)),
            ("GPL-2.0 WITH Classpath", Ok(true)),
            ("MIT WITH Classpath", Ok(false)),
            ("", Err("it ends too early".to_owned())),
            ("MIT OR", Err("it ends too early".to_owned())),
            ("MIT ISC", Err("unexpected `ISC`".to_owned())),
            ("(MIT", Err("a bracket is not closed".to_owned())),
        ] {
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
        }
    }
}
