//! One text for all spellings of one JSON value, so that payloads can be compared and hashed. It
//! never loses anything: numbers stay as written, and what no Unicode string can hold stays escaped.

use std::ops::Range;

/// The deepest nesting of arrays and objects: as deep as `serde_json` reads, so that what is
/// accepted can also be decoded.
pub const NESTING_MAX: usize = 127;

/// The text is not one JSON value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not JSON at byte {offset}: {what}")]
pub struct NotJson {
    /// Where in the text, in bytes from its start.
    pub offset: usize,
    /// What is wrong there.
    pub what: &'static str,
}

/// The canonical text of one JSON value (RFC 8259).
///
/// Two texts have the same canonical text exactly when they differ only in white space, in the
/// order of object keys and in how strings are escaped. Keys are sorted by the bytes of their UTF-8.
/// Numbers are kept as written (`1`, `1.0` and `1e0` differ), because a reader may keep more digits
/// than a float. This is where it departs from RFC 8785, as does that a lone surrogate is kept as an
/// escape in lower case.
///
/// Refused: duplicate keys, nesting deeper than [`NESTING_MAX`], a byte order mark, and anything
/// after the value.
pub fn canonical(json: &str) -> Result<String, NotJson> {
    let mut scanner = Scanner {
        text: json,
        at: 0,
        out: String::with_capacity(json.len()),
    };
    scanner.value(0)?;
    scanner.skip_space();
    match scanner.peek() {
        None => Ok(scanner.out),
        Some(_) => Err(scanner.fault("more text after the value")),
    }
}

/// Reads `text` from `at` on and writes its canonical form to `out`.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
    out: String,
}

/// One key and value of an object, both as they lie in `out`.
struct Member {
    key: Vec<u8>,
    key_offset: usize,
    written: Range<usize>,
}

impl Scanner<'_> {
    fn value(&mut self, depth: usize) -> Result<(), NotJson> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(self.deeper(depth)?),
            Some(b'[') => self.array(self.deeper(depth)?),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(_) => Err(self.fault("a value must begin here")),
            None => Err(self.fault("the text ends where a value must begin")),
        }
    }

    fn deeper(&self, depth: usize) -> Result<usize, NotJson> {
        if depth == NESTING_MAX {
            return Err(self.fault("nested deeper than 127 levels"));
        }
        Ok(depth + 1)
    }

    fn array(&mut self, depth: usize) -> Result<(), NotJson> {
        self.take(b'[', "a [ must be here")?;
        self.out.push('[');
        self.skip_space();
        if !self.eat(b']') {
            loop {
                self.value(depth)?;
                self.skip_space();
                if self.eat(b']') {
                    break;
                }
                self.take(b',', "a comma or ] must be here")?;
                self.out.push(',');
            }
        }
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), NotJson> {
        self.take(b'{', "a { must be here")?;
        self.out.push('{');
        self.skip_space();
        if !self.eat(b'}') {
            let mut members = Vec::new();
            loop {
                members.push(self.member(depth)?);
                self.skip_space();
                if self.eat(b'}') {
                    break;
                }
                self.take(b',', "a comma or } must be here")?;
                self.out.push(',');
            }
            self.sort(members)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn member(&mut self, depth: usize) -> Result<Member, NotJson> {
        self.skip_space();
        let (key_offset, start) = (self.at, self.out.len());
        if self.peek() != Some(b'"') {
            return Err(self.fault("a key in double quotes must be here"));
        }
        self.string()?;
        let key = unescaped(&self.out[start..]);
        self.skip_space();
        self.take(b':', "a colon must be here")?;
        self.out.push(':');
        self.value(depth)?;
        Ok(Member {
            key,
            key_offset,
            written: start..self.out.len(),
        })
    }

    /// Puts the members, which are the last that was written, into the order of their keys.
    fn sort(&mut self, mut members: Vec<Member>) -> Result<(), NotJson> {
        if members.is_sorted_by(|a, b| a.key < b.key) {
            return Ok(());
        }
        let start = members
            .first()
            .map_or(self.out.len(), |member| member.written.start);
        members.sort_by(|a, b| a.key.cmp(&b.key));
        if let Some(pair) = members.windows(2).find(|pair| pair[0].key == pair[1].key) {
            return Err(NotJson {
                offset: pair[1].key_offset,
                what: "this key is in the object already",
            });
        }
        let sorted: Vec<&str> = members
            .iter()
            .map(|m| &self.out[m.written.clone()])
            .collect();
        let sorted = sorted.join(",");
        self.out.truncate(start);
        self.out.push_str(&sorted);
        Ok(())
    }

    fn string(&mut self) -> Result<(), NotJson> {
        self.take(b'"', "a double quote must be here")?;
        self.out.push('"');
        loop {
            let plain = self.at;
            while self
                .peek()
                .is_some_and(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
            {
                self.at += 1;
            }
            self.out.push_str(&self.text[plain..self.at]);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.fault("a control character must be escaped")),
                None => return Err(self.fault("the text ends inside a string")),
            }
        }
        self.at += 1;
        self.out.push('"');
        Ok(())
    }

    fn escape(&mut self) -> Result<(), NotJson> {
        let start = self.at;
        self.at += 1;
        let named = match self.peek() {
            Some(b'u') => {
                self.at = start;
                return self.unicode_escape();
            }
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => {
                return Err(NotJson {
                    offset: start,
                    what: "no such escape",
                });
            }
        };
        self.at += 1;
        push_escaped(&mut self.out, named);
        Ok(())
    }

    fn unicode_escape(&mut self) -> Result<(), NotJson> {
        let unit = self.code_unit()?;
        let after_unit = self.at;
        if is_high_surrogate(unit) && self.text[self.at..].starts_with("\\u") {
            let next = self.code_unit()?;
            if let Some(Ok(character)) = char::decode_utf16([unit, next]).next() {
                push_escaped(&mut self.out, character);
                return Ok(());
            }
            self.at = after_unit;
        }
        match char::from_u32(u32::from(unit)) {
            Some(character) => push_escaped(&mut self.out, character),
            None => self.out.push_str(&format!("\\u{unit:04x}")),
        }
        Ok(())
    }

    /// Reads `\uXXXX`.
    fn code_unit(&mut self) -> Result<u16, NotJson> {
        let digits = self.text.get(self.at + 2..self.at + 6);
        let unit = digits
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|digits| u16::from_str_radix(digits, 16).ok())
            .ok_or_else(|| self.fault("\\u needs four hex digits"))?;
        self.at += 6;
        Ok(unit)
    }

    fn number(&mut self) -> Result<(), NotJson> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        } else if self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.fault("a number must not begin with 0"));
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        self.out.push_str(&self.text[start..self.at]);
        Ok(())
    }

    fn digits(&mut self) -> Result<(), NotJson> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.fault("a digit must be here"));
        }
        Ok(())
    }

    fn word(&mut self, word: &'static str) -> Result<(), NotJson> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.fault("a value must begin here"));
        }
        self.at += word.len();
        self.out.push_str(word);
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn take(&mut self, byte: u8, what: &'static str) -> Result<(), NotJson> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.fault(what))
        }
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    const fn fault(&self, what: &'static str) -> NotJson {
        NotJson {
            offset: self.at,
            what,
        }
    }
}

const fn is_high_surrogate(unit: u16) -> bool {
    matches!(unit, 0xd800..=0xdbff)
}

fn push_escaped(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{c}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
        _ => out.push(character),
    }
}

/// The bytes that a string as it stands in `out`, with its quotes, means: UTF-8, and for a lone
/// surrogate the three bytes that UTF-8 would give it (WTF-8), which no character has.
fn unescaped(written: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(written.len());
    let mut rest = &written[1..written.len() - 1];
    while let Some((plain, escaped)) = rest.split_once('\\') {
        key.extend_from_slice(plain.as_bytes());
        let mut length = 1;
        match escaped.as_bytes()[0] {
            b'b' => key.push(0x08),
            b't' => key.push(b'\t'),
            b'n' => key.push(b'\n'),
            b'f' => key.push(0x0c),
            b'r' => key.push(b'\r'),
            b'u' => {
                length = 5;
                let unit = u16::from_str_radix(&escaped[1..length], 16).unwrap_or_default();
                extend_with_unit(&mut key, unit);
            }
            quoted => key.push(quoted),
        }
        rest = &escaped[length..];
    }
    key.extend_from_slice(rest.as_bytes());
    key
}

/// Appends a UTF-16 code unit that `out` keeps escaped: a control character or a lone surrogate.
fn extend_with_unit(key: &mut Vec<u8>, unit: u16) {
    let [high, low] = unit.to_be_bytes();
    match high {
        0 => key.push(low),
        _ => key.extend([
            0xe0 | (high >> 4),
            0x80 | ((high & 0x0f) << 2) | (low >> 6),
            0x80 | (low & 0x3f),
        ]),
    }
}

#[cfg(test)]
mod tests;
