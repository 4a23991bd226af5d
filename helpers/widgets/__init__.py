"""Things to play with: each function returns an ipywidget that is drawn as SVG, and needs no network."""
