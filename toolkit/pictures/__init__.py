"""Pictures: panes that say what is shown, drawn on a static page by matplotlib and on an interactive one by Plotly."""
