//! Takes out of an error text what differs from job to job. It works on bytes, in one pass with short
//! looks ahead; it knows no language and accepts any text.

/// What stands for everything that varies: the same byte for a number and for an id, because ids
/// happen to be all digits.
const VARYING: u8 = b'#';
/// How far the end of a quoted string is looked for.
const QUOTED_BYTES_MAX: usize = 1024;
/// How far the end of an address in brackets is looked for.
const BRACKETED_BYTES_MAX: usize = 64;
/// Words, or ends of words, after which a number names the fault instead of counting something.
const NAMING_WORDS: [&str; 7] = [
    "http", "status", "code", "error", "errno", "sqlstate", "signal",
];
/// The most letters and digits of a number that names the fault: those of a SQLSTATE.
const NAMING_NUMBER_BYTES_MAX: usize = 5;
/// From this many letters and digits on, a word of hexadecimal digits or of mixed ones is an id.
const ID_BYTES_MIN: usize = 8;

/// The normal form of `text`, at most `bytes_max` bytes of it.
pub(super) fn normalised(text: &[u8], bytes_max: usize) -> Vec<u8> {
    let text = text.trim_ascii();
    let mut out = Vec::new();
    let mut word_before: &[u8] = b"";
    let mut at = 0;
    while out.len() < bytes_max && at < text.len() {
        let rest = &text[at..];
        let word = &rest[..run(rest, is_word)];
        if word.is_empty() {
            let after_word = at > 0 && is_word(text[at - 1]);
            at += push_marked(&mut out, rest, after_word);
        } else {
            at += push_word(&mut out, rest, word, names_fault(word_before));
            word_before = word;
        }
    }
    out.truncate(bytes_max);
    out
}

/// Writes what begins with no letter and no digit, and tells its length in the text.
fn push_marked(out: &mut Vec<u8>, rest: &[u8], after_word: bool) -> usize {
    let quoted = quoted(rest, after_word);
    if quoted > 0 && is_symbol(&rest[1..quoted - 1], rest.get(quoted)) {
        out.extend_from_slice(&rest[..quoted]);
        return quoted;
    }
    let varying = quoted.max(bracketed_address(rest));
    if varying > 0 {
        out.push(VARYING);
        return varying;
    }
    match rest[0] {
        byte if !byte.is_ascii_whitespace() => out.push(byte),
        _ if out.last() == Some(&b' ') => {}
        _ => out.push(b' '),
    }
    1
}

/// Writes what begins with `word`, and tells its length in the text.
fn push_word(out: &mut Vec<u8>, rest: &[u8], word: &[u8], after_naming: bool) -> usize {
    if after_naming && word.len() <= NAMING_NUMBER_BYTES_MAX {
        out.extend_from_slice(word);
        return word.len();
    }
    if word.eq_ignore_ascii_case(b"http") {
        let version =
            matching(&rest[word.len()..], b"/0.0").max(matching(&rest[word.len()..], b"/0"));
        out.extend_from_slice(&rest[..word.len() + version]);
        return word.len() + version;
    }
    let varying = uuid(rest).max(date_time(rest)).max(address(rest));
    if varying > 0 || is_id(word) {
        out.push(VARYING);
        return varying.max(word.len());
    }
    for run in word.chunk_by(|left, right| left.is_ascii_digit() == right.is_ascii_digit()) {
        match run[0] {
            b'0'..=b'9' => out.push(VARYING),
            _ => out.extend_from_slice(run),
        }
    }
    let mut length = word.len();
    while word[word.len() - 1].is_ascii_digit() && matching(&rest[length..], b".0") > 0 {
        length += 1 + run(&rest[length + 1..], |byte| byte.is_ascii_digit());
    }
    length
}

fn names_fault(word: &[u8]) -> bool {
    NAMING_WORDS.iter().any(|name| {
        let start = word.len().saturating_sub(name.len());
        word[start..].eq_ignore_ascii_case(name.as_bytes())
    })
}

/// Whether a quoted text is a name that a program chose, such as `"card_declined"` or a key of JSON.
fn is_symbol(quoted: &[u8], next: Option<&u8>) -> bool {
    let letters = quoted
        .iter()
        .all(|byte| byte.is_ascii_alphabetic() || b"_-.".contains(byte));
    letters && !quoted.is_empty() && (quoted.contains(&b'_') || next == Some(&b':'))
}

/// Hexadecimal digits, or letters mixed with at least two runs of digits, as in `3MmlLrLkdIwHu7ix0`.
fn is_id(word: &[u8]) -> bool {
    if let Some(hex) = word.strip_prefix(b"0x").or(word.strip_prefix(b"0X")) {
        return hex.iter().all(u8::is_ascii_hexdigit);
    }
    let digit_runs = word
        .chunk_by(|left, right| left.is_ascii_digit() == right.is_ascii_digit())
        .filter(|run| run[0].is_ascii_digit())
        .count();
    word.len() >= ID_BYTES_MIN && (digit_runs > 1 || word.iter().all(u8::is_ascii_hexdigit))
}

/// The length of a quoted string that `text` begins with. An apostrophe in a word is no quote.
fn quoted(text: &[u8], after_word: bool) -> usize {
    let quote = text[0];
    if !b"\"'`".contains(&quote) || (quote == b'\'' && after_word) {
        return 0;
    }
    let mut at = 1;
    while at < text.len().min(QUOTED_BYTES_MAX) && text[at] != b'\n' {
        if text[at] == quote
            && !(quote == b'\'' && text.get(at + 1).is_some_and(|next| is_word(*next)))
        {
            return at + 1;
        }
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    0
}

/// The length of an IPv6 address in brackets, with its port.
fn bracketed_address(text: &[u8]) -> usize {
    let inner = run(&text[1..], |byte| is_word(byte) || b":.%".contains(&byte));
    let colons = text[1..=inner].iter().filter(|byte| **byte == b':').count();
    if text[0] != b'['
        || inner > BRACKETED_BYTES_MAX
        || colons < 2
        || text.get(inner + 1) != Some(&b']')
    {
        return 0;
    }
    inner + 2 + port(&text[inner + 2..])
}

/// The length of an IPv4 address, with its port.
fn address(text: &[u8]) -> usize {
    let digits = |text: &[u8]| run(text, |byte| byte.is_ascii_digit());
    let mut length = digits(text);
    for _ in 0..3 {
        let part = text.get(length + 1..).map_or(0, digits);
        if !(1..=3).contains(&part) || text[length] != b'.' {
            return 0;
        }
        length += 1 + part;
    }
    length + port(&text[length..])
}

fn port(text: &[u8]) -> usize {
    match matching(text, b":0") {
        0 => 0,
        _ => 1 + run(&text[1..], |byte| byte.is_ascii_digit()),
    }
}

fn uuid(text: &[u8]) -> usize {
    let length = matching(text, b"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
    if text.get(length).is_some_and(|byte| is_word(*byte)) {
        0
    } else {
        length
    }
}

/// The length of a date as in RFC 3339, with its time and zone where it has them.
fn date_time(text: &[u8]) -> usize {
    let mut length = matching(text, b"0000-00-00");
    if length == 0 {
        return 0;
    }
    let minutes = matching(&text[length..], b"T00:00").max(matching(&text[length..], b" 00:00"));
    if minutes == 0 {
        return length;
    }
    length += minutes;
    length += matching(&text[length..], b":00");
    if matching(&text[length..], b".0") > 0 {
        length += 1 + run(&text[length + 1..], |byte| byte.is_ascii_digit());
    }
    let zones: [&[u8]; 3] = [b"Z", b"+00:00", b"-00:00"];
    length
        + zones
            .iter()
            .map(|zone| matching(&text[length..], zone))
            .max()
            .unwrap_or(0)
}

/// The length of `pattern` when `text` begins with it, or 0: `0` is any digit, `x` any hexadecimal one.
fn matching(text: &[u8], pattern: &[u8]) -> usize {
    let fits = |(byte, wanted): (&u8, &u8)| match wanted {
        b'0' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_hexdigit(),
        _ => byte == wanted,
    };
    if text.len() >= pattern.len() && text.iter().zip(pattern).all(fits) {
        pattern.len()
    } else {
        0
    }
}

/// How many bytes at the start of `text` are of one sort.
fn run(text: &[u8], is_of_sort: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|byte| is_of_sort(**byte)).count()
}

/// A letter or a digit; what is beyond ASCII counts as a letter.
const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> String {
        String::from_utf8_lossy(&normalised(text.as_bytes(), 1024)).into_owned()
    }

    #[test]
    fn what_varies_is_taken_out() {
        let table = [
            ("", ""),
            (" a \t\n b\n", "a b"),
            ("job 17 of 200", "job # of #"),
            ("worker3 took 1.5s, not 12s", "worker# took #s, not #s"),
            ("v1.2.3-rc4.", "v#-rc#."),
            ("id 550e8400-e29b-41d4-a716-446655440000!", "id #!"),
            ("id 550E8400-E29B-41D4-A716-446655440000", "id #"),
            ("at deadbeef, 0x7f, 0xDEADBEEF01", "at #, #, #"),
            ("defaced facade 1234abcd 12345678", "defaced facade # #"),
            ("no charge ch_3MmlLrLkdIwHu7ix0snN0B15", "no charge ch_#"),
            ("Http2ProtocolError", "Http#ProtocolError"),
            ("connect to 10.0.0.1:5432 failed", "connect to # failed"),
            ("connect to 10.0.0.1: refused", "connect to #: refused"),
            (
                "connect to [2001:db8::1]:5432 failed",
                "connect to # failed",
            ),
            ("values [1, 2]", "values [#, #]"),
            ("at [12:30] sharp", "at [#:#] sharp"),
            ("since 2026-01-31T12:00:00.123Z.", "since #."),
            ("since 2026-01-31 12:00+07:00 on", "since # on"),
            ("on 2026-01-31, 12:00:05", "on #, #:#:#"),
            (
                "user \"bob \\\" x\" and 'al' and `it`",
                "user # and # and #",
            ),
            ("can't open 'it's here' now", "can't open # now"),
            ("thẻ's 'a' b", "thẻ's # b"),
            ("unclosed \"quote 17", "unclosed \"quote #"),
            ("two \"lines\nof\" text", "two \"lines of\" text"),
            ("lỗi 17 thẻ12", "lỗi # thẻ#"),
        ];
        for (text, expected) in table {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn what_names_the_fault_stays() {
        let table = [
            ("HTTP 503 after 17 ms", "HTTP 503 after # ms"),
            ("HTTP/1.1 503 in 17 ms", "HTTP/1.1 503 in # ms"),
            ("HTTP/2 404", "HTTP/2 404"),
            ("status=503 statusCode: 429", "status=503 statusCode: 429"),
            ("os error 104 at 17", "os error 104 at #"),
            (
                "SQLSTATE 40P01, SQLSTATE(23505)",
                "SQLSTATE 40P01, SQLSTATE(23505)",
            ),
            ("error 1234567", "error #"),
            (
                "{\"code\":\"card_declined\",\"message\":\"no 17\"}",
                "{\"code\":\"card_declined\",\"message\":#}",
            ),
            ("column \"user_id\" of \"users\"", "column \"user_id\" of #"),
        ];
        for (text, expected) in table {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_normal_form(text in ".{0,200}", odd in r#"["'`\\\[\]0-9a-fx:.\-T HTPtp/]{0,80}"#) {
            for text in [text, odd] {
                prop_assert!(normalised(text.as_bytes(), 64).len() <= 64);
                let full = normalised(text.as_bytes(), usize::MAX);
                prop_assert!(full.len() <= text.len());
            }
        }
    }
}
