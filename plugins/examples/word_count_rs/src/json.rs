//! As much JSON as this flow needs: texts, both ways, and the whole numbers of a list of lists.

/// The text of a JSON string; None: it is something else.
pub fn text(json: &str) -> Option<String> {
    let inner = json.trim().strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::new();
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' => return None,
            '\\' => text.push(escaped(&mut rest)?),
            _ => text.push(c),
        }
    }
    Some(text)
}

/// What stands behind a backslash. PostgreSQL prints characters as they are and only controls as
/// \uXXXX, so there are no surrogate pairs.
fn escaped(rest: &mut std::str::Chars) -> Option<char> {
    Some(match rest.next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let mut code = 0;
            for _ in 0..4 {
                code = code * 16 + rest.next()?.to_digit(16)?;
            }
            char::from_u32(code)?
        }
        c @ ('"' | '\\' | '/') => c,
        _ => return None,
    })
}

/// The text as a JSON string.
pub fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if c < ' ' => json.push_str(&format!("\\u{:04x}", c as u32)),
            c => json.push(c),
        }
    }
    json.push('"');
    json
}

/// The rows of {"<member>": [[1, 2, 3], ...]}; None: it is something else.
pub fn rows(json: &str, member: &str) -> Option<Vec<[u64; 3]>> {
    let object = json.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let value = object.strip_prefix(&quoted(member))?.trim().strip_prefix(':')?.trim();
    let mut rest = value.strip_prefix('[')?.strip_suffix(']')?.trim();
    let mut rows = Vec::new();
    while !rest.is_empty() {
        let (row, behind) = rest.strip_prefix('[')?.split_once(']')?;
        let numbers: Result<Vec<u64>, _> = row.split(',').map(|n| n.trim().parse()).collect();
        rows.push(numbers.ok()?.try_into().ok()?);
        rest = match behind.trim() {
            "" => "",
            more => more.strip_prefix(',')?.trim(),
        };
    }
    Some(rows)
}
