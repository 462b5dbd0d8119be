"""What can be said of any page in a browser: what it asked for, what overlaps, what axe finds."""

from contextlib import contextmanager
from dataclasses import dataclass, field

WIDTHS = (1440, 768, 390)
SCHEMES = ("light", "dark")
READY = "() => document.documentElement.dataset.ready === 'true'"

# Every stretch of visible text with its box on the page. Text of one paragraph is one stretch.
BOXES = r"""() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const unseen = ['script', 'style', 'noscript', 'option', 'title', 'desc', '[hidden]', '.hidden',
    '.watermark', 'details:not([open]) > :not(summary)'].join();
  const blocks = ['p', 'li', 'th', 'td', 'dt', 'dd', 'h1', 'h2', 'h3', 'figcaption', 'label',
    'button', 'summary', 'text', 'caption', 'div'].join();
  const elements = [...document.querySelectorAll('*')];
  /* What only a reader of the screen is told lies clipped at one place. */
  const clipped = (element) => {
    const head = element.closest('thead');
    return head && getComputedStyle(head).position === 'absolute';
  };
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const parent = node.parentElement;
    if (!node.textContent.trim() || parent.closest(unseen) || clipped(parent)) continue;
    if (!parent.checkVisibility({ visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const block = elements.indexOf(parent.closest(blocks));
    for (const box of range.getClientRects()) {
      if (box.width < 1 || box.height < 1) continue;
      found.push({ text: node.textContent.trim().slice(0, 40), left: box.left, right: box.right,
        top: box.top, bottom: box.bottom, block, scrolls: Boolean(parent.closest('.scroll')) });
    }
  }
  for (const control of document.querySelectorAll('input, select, button')) {
    const box = control.getBoundingClientRect();
    if (box.width < 1 || !control.checkVisibility()) continue;
    if (control.tagName === 'BUTTON') continue;
    found.push({ text: `<${control.tagName} ${control.type}>`, left: box.left, right: box.right,
      top: box.top, bottom: box.bottom, block: -found.length - 1, scrolls: false });
  }
  return found;
}"""


@dataclass(slots=True, kw_only=True)
class Heard:
    """What a page asked for and complained about while it was open."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@contextmanager
def opened(browser, file, *, width=1440, scheme="light", fragment="", media="screen"):
    """A page from a file in a window of its own, with what was heard of it."""
    heard = Heard()
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.emulate_media(media=media, color_scheme=scheme)
    page.on("request", lambda request: heard.requests.append(request.url))
    page.on("console", lambda message: heard.complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: heard.complaints.append(str(error)))
    page.on("dialog", lambda dialog: heard.complaints.append(f"dialog: {dialog.message}"))
    page.goto(f"{file.as_uri()}{fragment}")
    try:
        yield page, heard
    finally:
        context.close()


def asked_elsewhere(heard, file):
    """Requests for anything but the file itself and what it holds."""
    own = file.as_uri()
    return [url for url in heard.requests if url.partition("#")[0] != own and url[:5] != "data:"]


def misplaced(page):
    """Texts beyond the window's edge, and pairs of texts that lie on each other."""
    width = page.evaluate("document.documentElement.clientWidth")
    scrolled = page.evaluate("document.documentElement.scrollWidth")
    found = [] if scrolled <= width else [f"the page is {scrolled} wide, the window {width}"]
    boxes = page.evaluate(BOXES)
    found += [
        f"beyond the edge: {box['text']!r}"
        for box in boxes
        if not box["scrolls"] and (box["left"] < -1 or box["right"] > width + 1)
    ]
    for index, one in enumerate(boxes):
        for other in boxes[index + 1 :]:
            if one["block"] == other["block"]:
                continue
            across = min(one["right"], other["right"]) - max(one["left"], other["left"])
            down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
            if across > 1 and down > OVERLAP:
                found.append(f"{one['text']!r} lies on {other['text']!r}")
    return found


OVERLAP = 3
"""Pixels by which boxes of lines may overlap: their letters do not."""


def violations(page):
    """What axe-core finds wrong, one line a rule."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']} ({', '.join(str(node['target']) for node in one['nodes'])})"
        for one in found
    ]
